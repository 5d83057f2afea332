import type { FaultKind } from './faults.ts'
import type { Circumstances } from './circumstances.ts'

/** Life in which a deliberate mistake shows. */
export interface FlawInfo {
  /** Kinds of faults that may happen; others would only hide the flaw. Default: all. */
  readonly among?: readonly FaultKind[]
  /** The only kind of fault that shows the flaw. */
  readonly shownBy?: FaultKind
  /** First seed to try, shortly before one that shows a rare flaw. */
  readonly from?: number
  /** Properties that a life needs to show the flaw. */
  readonly life?: Partial<Circumstances>
}
