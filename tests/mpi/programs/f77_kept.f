! SPDX-License-Identifier: GPL-2.0-only
! mpif.h: handles in a common block, MPI_BOTTOM, persistent requests.
      program f77_kept
      implicit none
      include 'mpif.h'
      integer ierr, rank, nprocs, right, left, round, bad, total, i
      integer requests(2), comm, absolute, key, status(MPI_STATUS_SIZE)
      common /handles/ requests, comm, absolute, key
      integer a(10), b(10), lengths(2), types(2), index,
     &    statuses(MPI_STATUS_SIZE, 2)
      common /data/ a, b
      integer(kind=MPI_ADDRESS_KIND) at(2), extra, value
      logical flag
      bad = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nprocs, ierr)
      right = mod(rank + 1, nprocs)
      left = mod(rank + nprocs - 1, nprocs)
      extra = 0
      call MPI_COMM_CREATE_KEYVAL(MPI_COMM_DUP_FN,
     &    MPI_COMM_NULL_DELETE_FN, key, extra, ierr)
      value = 321
      call MPI_COMM_SET_ATTR(MPI_COMM_WORLD, key, value, ierr)
      call MPI_COMM_DUP(MPI_COMM_WORLD, comm, ierr)
      call MPI_GET_ADDRESS(a(1), at(1), ierr)
      call MPI_GET_ADDRESS(a(7), at(2), ierr)
      lengths(1) = 2
      lengths(2) = 3
      call MPI_TYPE_CREATE_HINDEXED(2, lengths, at, MPI_INTEGER,
     &    absolute, ierr)
      call MPI_TYPE_COMMIT(absolute, ierr)
      call MPI_RECV_INIT(b, 5, MPI_INTEGER, left, 7, comm,
     &    requests(1), ierr)
      call MPI_SEND_INIT(MPI_BOTTOM, 1, absolute, right, 7, comm,
     &    requests(2), ierr)
      do round = 1, 15
         do i = 1, 10
            a(i) = rank * 100 + i + round
         end do
         call MPI_STARTALL(2, requests, ierr)
         call mt_step()
         call MPI_WAITANY(2, requests, index, status, ierr)
         if (index .lt. 1 .or. index .gt. 2) bad = bad + 1
         call MPI_WAITALL(2, requests, statuses, ierr)
         if (b(2) .ne. left * 100 + 2 + round) bad = bad + 1
         if (b(5) .ne. left * 100 + 9 + round) bad = bad + 1
         i = rank + round
         call MPI_ALLREDUCE(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_MAX,
     &    comm, ierr)
         if (i .ne. nprocs - 1 + round) bad = bad + 1
         value = 0
         call MPI_COMM_GET_ATTR(comm, key, value, flag, ierr)
         if (.not. flag .or. value .ne. 321) bad = bad + 1
         call MPI_BCAST(MPI_BOTTOM, 1, absolute, 0, comm, ierr)
         if (a(7) .ne. 7 + round) bad = bad + 1
         call mt_step()
      end do
      call MPI_REQUEST_FREE(requests(1), ierr)
      call MPI_REQUEST_FREE(requests(2), ierr)
      call MPI_TYPE_FREE(absolute, ierr)
      call MPI_COMM_FREE(comm, ierr)
      call MPI_ALLREDUCE(bad, total, 1, MPI_INTEGER, MPI_SUM,
     &    MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(i0, a, i0, a)', nprocs, ' ranks, ',
     &    total, ' bad'
      call MPI_FINALIZE(ierr)
      end program
