import type { ErrorRecord, WrongRecord } from '../failure-records.ts'

/** A change that a consumer has handled. */
export interface HandledRecord {
  readonly kind: 'handled'
  readonly id: string
  readonly version: number
  /** By the monotonic clock that all processes share, in µs. */
  readonly at: number
  /** From the statement of the write to the handler, in ms, by the machine's clock. */
  readonly afterMs: number
}

export type ChangesRecord = HandledRecord | WrongRecord | ErrorRecord

export type Role = 'write' | 'consume' | 'by time'

/** What a process is told. */
export interface ChangesConfig {
  readonly role: Role
  readonly urls: readonly string[]
  readonly seed: number
  /** The entities that are written. */
  readonly ids: readonly string[]
  /** Of those who write: callers at once, and how long each rests after a call. */
  readonly clients: number
  readonly restMs: number
  /** Of those who consume: the consumer's name, and its leases. */
  readonly consumer: string
  readonly leaseMs: number
}
