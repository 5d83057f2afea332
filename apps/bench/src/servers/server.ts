import type { ServerMeter } from '../measure/usage.ts'
import type { ServerKind } from '../sides/side.ts'

/** Where databases are made: servers that were started or given, or a folder. */
export interface Server {
  readonly kind: ServerKind
  /** For people: `2 MariaDB servers`. */
  readonly title: string
  /** Versions and settings; no credentials. */
  readonly facts: Readonly<Record<string, unknown>>
  readonly meter: ServerMeter | undefined
  /** New and empty ones, one a shard. */
  createDatabases(): Promise<readonly string[]>
  dropDatabases(databases: readonly string[]): Promise<void>
  /** What they take on disk. */
  bytesOf(databases: readonly string[]): Promise<number>
  /** Removes everything that was created. */
  close(): Promise<void>
}
