import type { ErrorRecord, WrongRecord } from '../failure-records.ts'

/** A change that a consumer has handled. */
export interface HandledRecord {
  readonly kind: 'handled'
  readonly id: string
  readonly version: number
  /** Microseconds of the monotonic clock that all processes share. */
  readonly at: number
  /** Milliseconds from the statement of the write to the handler, by the machine's clock. */
  readonly afterMs: number
}

export type ChangesRecord = HandledRecord | WrongRecord | ErrorRecord

export type Role = 'write' | 'consume' | 'by time'

/** Configuration of a process. */
export interface ChangesConfig {
  readonly role: Role
  readonly urls: readonly string[]
  readonly seed: number
  /** The entities that are written. */
  readonly ids: readonly string[]
  /** For writers: concurrent callers, and the pause of each after a call. */
  readonly clients: number
  readonly restMs: number
  /** For consumers: name and leases of the consumer. */
  readonly consumer: string
  readonly leaseMs: number
}
