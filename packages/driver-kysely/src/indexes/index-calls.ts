import type { CallOptions } from '@looseleaf/core'
import type { IndexTableSpec } from '@looseleaf/core/internal'
import type { Call, FaultCodes, Session } from '../database/session.ts'

/** Call options and compiled statements of one index table or table of claims. */
export interface IndexCalls {
  reading(options: CallOptions | undefined): Call
  writing(options: CallOptions | undefined): Call
  /** `shape` of the session, with the table's name in the key. */
  readonly shape: Session['shape']
}

/** Returns the codes of faults of an index table or a table of claims. */
export function indexFaults({ table }: IndexTableSpec): FaultCodes {
  return { 'no-table': ['INDEX_NOT_FOUND', `the index table ${table} is missing.`] }
}

export function indexCalls(session: Pick<Session, 'shape'>, spec: IndexTableSpec): IndexCalls {
  const faults = indexFaults(spec)
  return {
    reading: (options) => ({ write: false, signal: options?.signal, faults }),
    writing: (options) => ({ write: true, signal: options?.signal, faults }),
    shape: (key, build, hints) => session.shape(`${spec.table} ${key}`, build, hints),
  }
}
