! SPDX-License-Identifier: GPL-2.0-only
! use mpi: allocatable arrays of a derived type that grow, sent with a struct type and from sections.
program f90_records
  use mpi
  implicit none
  type particle
    sequence
    double precision :: x(3)
    integer :: id
    integer :: kind
  end type
  type(particle), allocatable :: mine(:), got(:)
  integer :: ierr, rank, nprocs, right, left, round, record, bad, total, n, i
  integer :: lengths(2), types(2), status(MPI_STATUS_SIZE), requests(2)
  integer(kind=MPI_ADDRESS_KIND) :: at(2), base
  double precision, allocatable :: table(:, :)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
  right = mod(rank + 1, nprocs)
  left = mod(rank + nprocs - 1, nprocs)
  bad = 0
  allocate(mine(1))
  call MPI_Get_address(mine(1)%x, base, ierr)
  call MPI_Get_address(mine(1)%id, at(2), ierr)
  at(2) = at(2) - base
  at(1) = 0
  lengths = [3, 2]
  types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
  call MPI_Type_create_struct(2, lengths, at, types, record, ierr)
  call MPI_Type_commit(record, ierr)
  deallocate(mine)
  do round = 1, 12
    n = 10 * round
    allocate(mine(n), got(n), table(n, 4))
    do i = 1, n
      mine(i)%x = [dble(rank), dble(i), dble(round)]
      mine(i)%id = rank * 10000 + i
      mine(i)%kind = round
    end do
    table = rank + round
    call MPI_Irecv(got, n, record, left, round, MPI_COMM_WORLD, requests(1), ierr)
    call mt_step()
    call MPI_Isend(mine, n, record, right, round, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
    if (got(n)%id /= left * 10000 + n .or. got(n)%x(3) /= round) bad = bad + 1
    if (requests(1) /= MPI_REQUEST_NULL) bad = bad + 1
    ! every other row: the compiler makes a copy
    call MPI_Sendrecv(table(1:n:2, 2), (n + 1) / 2, MPI_DOUBLE_PRECISION, right, 99, &
      table(1, 3), (n + 1) / 2, MPI_DOUBLE_PRECISION, left, 99, MPI_COMM_WORLD, status, ierr)
    if (table(1, 3) /= left + round .or. status(MPI_SOURCE) /= left) bad = bad + 1
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, i, ierr)
    if (i /= (n + 1) / 2) bad = bad + 1
    call mt_step()
    deallocate(mine, got, table)
  end do
  call MPI_Type_free(record, ierr)
  call MPI_Allreduce(bad, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0) print '(i0, a, i0, a)', nprocs, ' ranks, ', total, ' bad'
  call MPI_Finalize(ierr)
end program
