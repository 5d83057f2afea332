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

export function indexCalls(session: Session, spec: IndexTableSpec): IndexCalls {
  const faults: FaultCodes = {
    'no-table': ['INDEX_NOT_FOUND', `the index table ${spec.table} is missing.`],
  }
  return {
    reading: (options) => ({ write: false, signal: options?.signal, faults }),
    writing: (options) => ({ write: true, signal: options?.signal, faults }),
    shape: (key, build, hints) => session.shape(`${spec.table} ${key}`, build, hints),
  }
}
