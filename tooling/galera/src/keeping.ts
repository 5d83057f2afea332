import type { FoundGalera } from './find-galera.ts'

/** The ports of a node: for clients, for the group, for the sending of missed writes, for the sending of everything. */
export interface NodePorts {
  readonly client: number
  readonly group: number
  readonly ist: number
  readonly sst: number
}

/** The first line that the keeper reads. As long as its input stays open, it keeps the nodes running. */
export interface Order {
  readonly galera: FoundGalera
  readonly nodes: readonly NodePorts[]
  readonly password: string
  readonly database: string
  readonly serverArguments: readonly string[]
}

/** Every further line that it reads. */
export interface Command {
  readonly call: number
  readonly action: 'bootstrap' | 'join' | 'kill' | 'pause' | 'resume'
  readonly node: number
}

/** What it writes, a line for each command. */
export interface Answer {
  readonly call: number
  /** Undefined when all is well. */
  readonly error?: string | undefined
}
