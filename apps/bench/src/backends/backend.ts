import type { ServerMeter } from '../measure/usage.ts'
import type { LooseleafSide } from '../sides/looseleaf-side.ts'
import type { Side } from '../sides/side.ts'

export const backendNames = ['sqlite', 'mysql'] as const
export type BackendName = (typeof backendNames)[number]

/** Empty databases with the tables created, and both sides connected to them. */
export interface Backend {
  readonly name: BackendName
  /** For people: `2 MariaDB servers`. */
  readonly title: string
  readonly sides: readonly [looseleaf: LooseleafSide, handWritten: Side]
  readonly server: ServerMeter | undefined
  /** Versions and settings of the database, for the results file; no credentials. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Closes both sides and removes everything that was created. */
  close(): Promise<void>
}
