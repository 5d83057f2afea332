import type { IndexTableSpec } from '@looseleaf/core/internal'
import { callsWith, type Calls, type FaultCodes, type Session } from '../database/session.ts'

/** Call options and compiled statements of one index table or table of claims. */
export interface IndexCalls extends Calls {
  /** `shape` of the session, with the table's name in the key. */
  readonly shape: Session['shape']
}

export function indexFaults({ table }: IndexTableSpec): FaultCodes {
  return { 'no-table': ['INDEX_NOT_FOUND', `the index table ${table} is missing.`] }
}

export function indexCalls(session: Pick<Session, 'shape'>, spec: IndexTableSpec): IndexCalls {
  return {
    ...callsWith(indexFaults(spec)),
    shape: (key, build, hints) => session.shape(`${spec.table} ${key}`, build, hints),
  }
}
