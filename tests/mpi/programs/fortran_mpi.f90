! SPDX-License-Identifier: GPL-2.0-only
! use mpi: halo exchange of a domain in strips, residual by a reduction.
program fortran_mpi
  use mpi
  implicit none
  integer, parameter :: n = 32
  double precision :: u(0:n+1, 0:n+1), v(0:n+1, 0:n+1), mine, all
  integer :: ierr, rank, nprocs, up, down, step, comm, dims(1), i, j
  logical :: periods(1)

  call MPI_Init(ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  dims(1) = nprocs
  periods(1) = .false.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., comm, ierr)
  call MPI_Comm_rank(comm, rank, ierr)
  call MPI_Cart_shift(comm, 0, 1, down, up, ierr)
  u = 0
  if (rank == 0) u(:, 0) = 1
  v = u
  do step = 1, 200
    call MPI_Sendrecv(u(0, n), n + 2, MPI_DOUBLE_PRECISION, up, 1, &
      u(0, 0), n + 2, MPI_DOUBLE_PRECISION, down, 1, comm, MPI_STATUS_IGNORE, ierr)
    call MPI_Sendrecv(u(0, 1), n + 2, MPI_DOUBLE_PRECISION, down, 2, &
      u(0, n + 1), n + 2, MPI_DOUBLE_PRECISION, up, 2, comm, MPI_STATUS_IGNORE, ierr)
    if (rank == 0) u(:, 0) = 1
    do j = 1, n
      do i = 1, n
        v(i, j) = 0.25d0 * (u(i-1, j) + u(i+1, j) + u(i, j-1) + u(i, j+1))
      end do
    end do
    call mt_step()
    mine = sum((v(1:n, 1:n) - u(1:n, 1:n))**2)
    u(1:n, 1:n) = v(1:n, 1:n)
    call MPI_Allreduce(mine, all, 1, MPI_DOUBLE_PRECISION, MPI_MAX, comm, ierr)
  end do
  if (rank == 0) print '(i0, a, es23.16)', nprocs, ' ranks, residual ', sqrt(all)
  call MPI_Comm_free(comm, ierr)
  call MPI_Finalize(ierr)
end program
