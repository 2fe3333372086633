! SPDX-License-Identifier: GPL-2.0-only
! use mpi_f08: graphs with MPI_UNWEIGHTED, with weights, and with MPI_WEIGHTS_EMPTY.
program f08_weights
  use mpi_f08
  implicit none
  type(MPI_Comm) :: graph
  integer :: rank, nprocs, left, right, bad, total, nr_in, nr_out, from(1), to(1), in(1), out(1)
  integer :: nobody(0)
  logical :: weighted
  external :: mt_step

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, nprocs)
  left = mod(rank + nprocs - 1, nprocs)
  right = mod(rank + 1, nprocs)
  bad = 0
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [right], &
    MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
  call look(1, .false.)
  call MPI_Dist_graph_neighbors(graph, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED)
  if (from(1) /= left .or. to(1) /= right) bad = bad + 1
  call MPI_Comm_free(graph)
  call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [right], MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., graph)
  call look(1, .false.)
  call MPI_Comm_free(graph)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], [7 + left], 1, [right], &
    [7 + rank], MPI_INFO_NULL, .false., graph)
  call look(1, .true.)
  call MPI_Dist_graph_neighbors(graph, 1, from, in, 1, to, out)
  if (in(1) /= 7 + left .or. out(1) /= 7 + rank) bad = bad + 1
  call MPI_Comm_free(graph)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, nobody, MPI_WEIGHTS_EMPTY, 0, nobody, &
    MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., graph)
  call look(0, .true.)
  call MPI_Comm_free(graph)
  call MPI_Allreduce(bad, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, i0, a)', nprocs, ' ranks, ', total, ' bad'
  call MPI_Finalize()
contains
  subroutine look(n, with_weights)
    integer, intent(in) :: n
    logical, intent(in) :: with_weights
    integer :: i

    do i = 1, 5
      call mt_step()
      call MPI_Dist_graph_neighbors_count(graph, nr_in, nr_out, weighted)
      if (nr_in /= n .or. nr_out /= n .or. (weighted .neqv. with_weights)) bad = bad + 1
    end do
  end subroutine
end program
