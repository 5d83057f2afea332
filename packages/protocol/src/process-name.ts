import { hostname } from 'node:os'

/** Says to people which process has work: the host and the process id. */
export const processName: string = `${hostname()}:${process.pid}`
