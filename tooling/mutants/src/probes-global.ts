/** Global set with the numbers of the statements that the current test has run. */
export const PROBES = '__probesThatRan'
