/** The global that collects the numbers of statements that have run: a set of the test that runs. */
export const PROBES = '__probesThatRan'
