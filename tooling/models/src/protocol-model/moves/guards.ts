/** Guards of the move of entities. The tests turn each off to show what breaks. */
export interface MoveGuards {
  /** A write compares the epoch of its shard. */
  readonly writesAreFenced: boolean
  /** A read learns the epoch from its own snapshot, while a move is announced. */
  readonly readsAreChecked: boolean
  /** The seal waits for reads that do not compare the epoch because no move was announced. */
  readonly plainReadsAreAwaited: boolean
  /** No write commits at the source while the last rows are copied. */
  readonly sealsFirst: boolean
  /** Rows that were written since the last window are copied under the seal. */
  readonly copiesUnderSeal: boolean
  /** The last window has no upper end. */
  readonly lastWindowIsOpen: boolean
  /** The commit compares the epoch that the source has had since it was sealed. */
  readonly commitComparesSeal: boolean
  /** The source gives the bucket up before the target begins. */
  readonly sourceFirst: boolean
  /** Each mover begins an attempt of its own at the source. */
  readonly takesOverAtSource: boolean
  /** The target refuses an attempt that is older than its own. */
  readonly attemptsGrow: boolean
  /** A copy compares the epoch that the target has had since the attempt began there. */
  readonly copiesAreFenced: boolean
  /** Deletes of leftovers and of rows that stayed behind compare the epoch of their shard. */
  readonly discardsAreFenced: boolean
  /** A copy replaces none of a later window, because a copy of the same attempt may arrive late. */
  readonly laterCopyStays: boolean
  /** A delete of leftovers spares rows from the time of the copies on, because it may arrive late, too. */
  readonly discardsAreBounded: boolean
  /** Leftovers of an undone attempt are deleted before rows are copied. */
  readonly leftoversGoFirst: boolean
  /** Tombstones are copied like other rows. */
  readonly tombstonesAreCopied: boolean
  /** The bounds of purged tombstones stay as they are while a bucket leaves. */
  readonly noPurgeWhileLeaving: boolean
  /** The target takes over the bound of the versions that were purged at the source. */
  readonly purgeBoundGoesAlong: boolean
  /** A flushed commit follows each page and its bodies, before they are written at the target. */
  readonly pagesAreOnDisk: boolean
  /** A flushed commit follows an empty page too: a crash may bring a row back to it. */
  readonly emptyPagesToo: boolean
  /** A row that was replaced between page and body is copied as it was read. */
  readonly replacedRowsAreCopied: boolean
  /** A writer that has waited breaks the seal. */
  readonly writersBreakSeals: boolean
  /** A process that finds the bucket away and not yet begun begins it at the target. */
  readonly anybodyBegins: boolean
  /** It does so only once the commit that it has seen is on disk. */
  readonly beginsAfterFlush: boolean
  /** An undo ends the attempt at the target only if it is the one that it has ended at the source. */
  readonly undoComparesAttempt: boolean
  /** No attempt of a move begins after the undo of that move. */
  readonly undoneStaysUndone: boolean
  /** The later arrival counts if two shards seem to own the bucket. */
  readonly laterArrivalOwns: boolean
  /** A shard takes a bucket back only after its former rows were emptied. */
  readonly emptiedFirst: boolean
  /** `end` is above the last row, not only above the last window. */
  readonly endIsAboveRows: boolean
  /** `begin` is a time below a floor that is on disk. */
  readonly beginIsOnDisk: boolean
  /** Each window takes the time of its copies after the attempt has begun at the target, so after those of all earlier copies. */
  readonly copyTimesGrow: boolean
  /** A follower skips copies. */
  readonly copiesAreSkipped: boolean
  /** A follower reads what the target serves after the page that it judges. */
  readonly judgesAfterPage: boolean
  /** A follower hands over rows of the target only after its place at the source has reached `end`. */
  readonly targetIsHeld: boolean
  /** A follower reads the source up to `end`, although it is not the owner any more. */
  readonly sourceIsReadToEnd: boolean
  /** A bucket is emptied only when registered consumers have passed its `end`. */
  readonly consumersAreAwaited: boolean
  /** A follower whose place is before rows that are gone begins again. */
  readonly gapsAreRefused: boolean
  /** A follower counts as having begun after that only by a floor that was raised when the rows began to go. */
  readonly goneAtIsRaised: boolean
  /** A follower that began after the rows of the source were gone takes copies for changes. */
  readonly lateFollowersTakeCopies: boolean
  /** The changes of the target wait while an earlier one fails at the source. */
  readonly failingIsAwaited: boolean
  /** The source is emptied only when no change of the bucket fails there. */
  readonly failingIsAwaitedByMover: boolean
  /** A failing change whose entity has left its shard is retried at the owner. */
  readonly failingIsPassedOn: boolean
  /** It is passed on only when the place behind it is saved. */
  readonly savedBeforePassing: boolean
  /** The name of a new consumer is registered before it raises the floors at which it begins. */
  readonly namedFirst: boolean
}

export const allMoveGuards: MoveGuards = {
  writesAreFenced: true,
  readsAreChecked: true,
  plainReadsAreAwaited: true,
  sealsFirst: true,
  copiesUnderSeal: true,
  lastWindowIsOpen: true,
  commitComparesSeal: true,
  sourceFirst: true,
  takesOverAtSource: true,
  attemptsGrow: true,
  copiesAreFenced: true,
  discardsAreFenced: true,
  laterCopyStays: true,
  discardsAreBounded: true,
  leftoversGoFirst: true,
  tombstonesAreCopied: true,
  noPurgeWhileLeaving: true,
  purgeBoundGoesAlong: true,
  pagesAreOnDisk: true,
  emptyPagesToo: true,
  replacedRowsAreCopied: true,
  writersBreakSeals: true,
  anybodyBegins: true,
  beginsAfterFlush: true,
  undoComparesAttempt: true,
  undoneStaysUndone: true,
  laterArrivalOwns: true,
  emptiedFirst: true,
  endIsAboveRows: true,
  beginIsOnDisk: true,
  copyTimesGrow: true,
  copiesAreSkipped: true,
  judgesAfterPage: true,
  targetIsHeld: true,
  sourceIsReadToEnd: true,
  consumersAreAwaited: true,
  gapsAreRefused: true,
  goneAtIsRaised: true,
  lateFollowersTakeCopies: true,
  failingIsAwaited: true,
  failingIsAwaitedByMover: true,
  failingIsPassedOn: true,
  savedBeforePassing: true,
  namedFirst: true,
}
