import { hostname } from 'node:os'

/** Name of this process for people: host and process id. */
export const processName: string = `${hostname()}:${process.pid}`
