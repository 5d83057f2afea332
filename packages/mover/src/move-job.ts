import type { MoveWork } from '@looseleaf/protocol/internal'
import type { MoveLease } from './move-lease.ts'
import type { ProgressMeter } from './progress.ts'
import type { Tuning } from './tuning.ts'
import type { MoveInLine } from './work-on-move.ts'

/** A move that this process has the lease of. */
export interface MoveJob extends Pick<MoveInLine, 'askTurn' | 'announcement' | 'onHandedOver'> {
  readonly work: MoveWork
  readonly lease: MoveLease
  readonly meter: ProgressMeter
  readonly tuning: Tuning
}
