! SPDX-License-Identifier: GPL-2.0-only
! use mpi_f08: halo exchange on a cartesian grid with subarray types and persistent requests.
program f08_halo
  use mpi_f08
  implicit none
  integer, parameter :: n = 16
  double precision, allocatable, asynchronous :: u(:, :)
  double precision, allocatable :: v(:, :)
  double precision :: mine, all
  integer :: dims(2), coords(2), rank, nprocs, west, east, step, i, j
  logical :: periods(2)
  type(MPI_Comm) :: grid
  type(MPI_Datatype) :: column(4)
  type(MPI_Request) :: request(4)
  external :: mt_step

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  dims = [nprocs, 1]
  periods = [.true., .false.]
  call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid)
  call MPI_Comm_rank(grid, rank)
  call MPI_Cart_coords(grid, rank, 2, coords)
  call MPI_Cart_shift(grid, 0, 1, west, east)
  allocate(u(0:n+1, 0:n+1), v(0:n+1, 0:n+1))
  u = 0
  v = 0
  do i = 1, n
    u(i, 1:n) = coords(1) * n + i
  end do
  do i = 1, 4
    call MPI_Type_create_subarray(2, [n + 2, n + 2], [1, n], &
      [merge(1, merge(n, merge(0, n + 1, i == 3), i == 2), i == 1), 1], &
      MPI_ORDER_FORTRAN, MPI_DOUBLE_PRECISION, column(i))
    call MPI_Type_commit(column(i))
  end do
  call MPI_Recv_init(u, 1, column(3), west, 1, grid, request(1))
  call MPI_Recv_init(u, 1, column(4), east, 2, grid, request(2))
  call MPI_Send_init(u, 1, column(2), east, 1, grid, request(3))
  call MPI_Send_init(u, 1, column(1), west, 2, grid, request(4))
  do step = 1, 40
    call MPI_Startall(4, request)
    call mt_step()
    call MPI_Waitall(4, request, MPI_STATUSES_IGNORE)
    do j = 1, n
      do i = 1, n
        v(i, j) = 0.25d0 * (u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
      end do
    end do
    mine = maxval(abs(v(1:n, 1:n) - u(1:n, 1:n)))
    u(1:n, 1:n) = v(1:n, 1:n)
    call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
    if (rank == 0 .and. mod(step, 10) == 0) print '(i0, a, es23.16)', step, ' residual ', all
  end do
  do i = 1, 4
    call MPI_Request_free(request(i))
    call MPI_Type_free(column(i))
  end do
  call MPI_Comm_free(grid)
  call MPI_Finalize()
end program
