Nb of jobs, Nb of Machines, Time seed, Machine seed, Upper bound, Lower bound
           2           3   840612802   398197754        20        18
Times
 6  7  5
 1  2  3
Machines
 2  3  1
 1  2  3
