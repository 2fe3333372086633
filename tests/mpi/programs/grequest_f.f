C     SPDX-License-Identifier: GPL-2.0-only
C     A generalised request whose functions are Fortran's: all by address.
      subroutine query_fn(extra, status, ierr)
      include 'mpif.h'
      integer status(MPI_STATUS_SIZE), ierr
      integer(kind=MPI_ADDRESS_KIND) extra
      status(MPI_SOURCE) = MPI_UNDEFINED
      status(MPI_TAG) = int(extra)
      call MPI_STATUS_SET_CANCELLED(status, .false., ierr)
      call MPI_STATUS_SET_ELEMENTS(status, MPI_BYTE, 0, ierr)
      ierr = MPI_SUCCESS
      end

      subroutine free_fn(extra, ierr)
      include 'mpif.h'
      integer ierr, freed, cancels
      integer(kind=MPI_ADDRESS_KIND) extra
      common /seen/ freed, cancels
      freed = freed + int(extra)
      ierr = MPI_SUCCESS
      end

      subroutine cancel_fn(extra, complete, ierr)
      include 'mpif.h'
      integer ierr, freed, cancels
      integer(kind=MPI_ADDRESS_KIND) extra
      logical complete
      common /seen/ freed, cancels
      if (.not. complete) cancels = cancels + int(extra)
      ierr = MPI_SUCCESS
      end

      program grequest
      include 'mpif.h'
      external query_fn, free_fn, cancel_fn
      integer ierr, rank, nranks, request, i, bad
      integer status(MPI_STATUS_SIZE), freed, cancels
      integer(kind=MPI_ADDRESS_KIND) extra
      common /seen/ freed, cancels
      freed = 0
      cancels = 0
      bad = 0
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, nranks, ierr)
      do i = 1, 5
         extra = 10 + i
         call MPI_GREQUEST_START(query_fn, free_fn, cancel_fn, extra,
     &                           request, ierr)
         call MPI_CANCEL(request, ierr)
         call MPI_GREQUEST_COMPLETE(request, ierr)
         call MPI_WAIT(request, status, ierr)
         if (status(MPI_TAG) .ne. 10 + i) bad = bad + 1
         call MT_STEP()
      end do
      if (freed .ne. 65) bad = bad + 1
      if (cancels .ne. 65) bad = bad + 1
      if (rank .eq. 0) print '(I0,A,I0,A,I0)', nranks, ' ranks, ',
     &   bad, ' bad, freed ', freed
      call MT_LAST()
      call MPI_FINALIZE(ierr)
      end
