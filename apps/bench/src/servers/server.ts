import type { ServerMeter } from '../measure/usage.ts'
import type { ServerKind } from '../sides/side.ts'

/** A place for databases: started or given servers, or a folder of files. */
export interface Server {
  readonly kind: ServerKind
  /** Title for people, such as `2 MariaDB servers`. */
  readonly title: string
  /** Versions and settings, without credentials. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly meter: ServerMeter | undefined
  /** Creates an empty database per shard and returns their URLs or paths. */
  createDatabases(): Promise<readonly string[]>
  dropDatabases(databases: readonly string[]): Promise<void>
  /** Returns the size of the databases on disk. */
  bytesOf(databases: readonly string[]): Promise<number>
  /** Drops all databases, and stops the servers that were started here. */
  close(): Promise<void>
}
