! SPDX-License-Identifier: GPL-2.0-only
! mpif.h: messages, sentinels, a reduction of its own, attributes, derived types.
      program fortran
      implicit none
      include 'mpif.h'
      integer ierr, rank, nprocs, right, left, i, bad, total, op, key
      integer requests(2), status(MPI_STATUS_SIZE), comm, dtype
      integer out(4), in(4), sum, mine
      integer(kind=MPI_ADDRESS_KIND) extra, value
      logical flag
      external addup
      bad = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierr)
      right = mod(rank + 1, nprocs)
      left = mod(rank + nprocs - 1, nprocs)
      do i = 1, 4
         out(i) = rank * 10 + i
      end do
      call MPI_IRECV(in, 4, MPI_INTEGER, left, 1, MPI_COMM_WORLD,
     &     requests(1), ierr)
      call MPI_ISEND(out, 4, MPI_INTEGER, right, 1, MPI_COMM_WORLD,
     &     requests(2), ierr)
      call MPI_WAITALL(2, requests, MPI_STATUSES_IGNORE, ierr)
      if (in(4) .ne. left * 10 + 4) bad = bad + 1
      call mt_step()
      if (requests(1) .ne. MPI_REQUEST_NULL) bad = bad + 1
      call mt_step()
      status(MPI_SOURCE) = 7
      call MPI_WAITANY(0, requests, i, status, ierr)
      if (status(MPI_SOURCE) .ne. MPI_ANY_SOURCE) bad = bad + 1
      if (status(MPI_TAG) .ne. MPI_ANY_TAG) bad = bad + 1
      status(MPI_SOURCE) = 7
      call MPI_TESTANY(0, requests, i, flag, status, ierr)
      if (.not. flag) bad = bad + 1
      if (status(MPI_SOURCE) .ne. MPI_ANY_SOURCE) bad = bad + 1
      call mt_step()
      sum = rank
      call MPI_ALLREDUCE(MPI_IN_PLACE, sum, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (sum .ne. nprocs * (nprocs - 1) / 2) bad = bad + 1
      call mt_step()
      call MPI_OP_CREATE(addup, .true., op, ierr)
      mine = rank + 1
      call MPI_ALLREDUCE(mine, sum, 1, MPI_INTEGER, op,
     &     MPI_COMM_WORLD, ierr)
      if (sum .ne. nprocs * (nprocs + 1) / 2) bad = bad + 1
      call mt_step()
      call MPI_OP_FREE(op, ierr)
      extra = 0
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &     MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
      value = 4711
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, value, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      value = 0
      call MPI_COMM_GET_ATTR(comm, key, value, flag, ierr)
      if (.not. flag .or. value .ne. 4711) bad = bad + 1
      call mt_step()
      call MPI_COMM_GET_ATTR(comm, MPI_TAG_UB, value, flag, ierr)
      if (.not. flag .or. value .lt. 32767) bad = bad + 1
      call mt_step()
      call MPI_TYPE_VECTOR(2, 1, 2, MPI_INTEGER, dtype, ierr)
      call MPI_TYPE_COMMIT(dtype, ierr)
      call MPI_SENDRECV(out, 1, dtype, right, 2, in, 1, dtype, left,
     &     2, comm, status, ierr)
      if (in(3) .ne. left * 10 + 3) bad = bad + 1
      call mt_step()
      if (status(MPI_SOURCE) .ne. left) bad = bad + 1
      call mt_step()
      call MPI_TYPE_FREE(dtype, ierr)
      call MPI_COMM_FREE(comm, ierr)
      call MPI_SEND(out, 1, MPI_INTEGER, MPI_PROC_NULL, 3,
     &     MPI_COMM_WORLD, ierr)
      call MPI_RECV(in, 1, MPI_INTEGER, MPI_PROC_NULL, 3,
     &     MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      call MPI_ALLREDUCE(bad, total, 1, MPI_INTEGER, MPI_SUM,
     &     MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(i0, a, i0, a)', nprocs, ' ranks, ',
     &     total, ' bad'
      call MPI_FINALIZE(ierr)
      if (total .ne. 0) stop 1
      end program

      subroutine addup(a, b, n, dtype)
      implicit none
      include 'mpif.h'
      integer n, dtype, i, a(n), b(n)
      if (dtype .ne. MPI_INTEGER) b(1) = -1000000
      do i = 1, n
         b(i) = b(i) + a(i)
      end do
      end subroutine
