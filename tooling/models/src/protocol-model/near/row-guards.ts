/** Guards of rows that are written with their entity. The tests turn each off to show what breaks. */
export interface NearGuards {
  /** Rows on other shards, and rows on the way, are written before the transaction. */
  readonly farRowsFirst: boolean
  /** An entity is swapped only from the version that was read. */
  readonly swapsCompareVersions: boolean
  /** An upsert keeps the greater stamp, in the transaction too. */
  readonly greatestStampStays: boolean
  /** Every prefix of the transaction is right by itself, if a pooler splits it: rows stand before the swap. */
  readonly rowsBeforeSwap: boolean
  /** Deletes stand behind the swap. */
  readonly deletesAfterSwap: boolean
  /** Rows go at once only if the swap of their entity took place. */
  readonly deletesAreForWinners: boolean
  /** The commit compares the epoch of its shard. */
  readonly commitsAreFenced: boolean
  /** Rows go at once only if the rows that the entity has then are all of the kind that may. */
  readonly allRowsFit: boolean
  /** Rows that the entity had before count as well. */
  readonly keptRowsCount: boolean
  /** Its rows in every exact index count, because an intersection reads several. */
  readonly everyIndexCounts: boolean
  /** All other lost rows stay until the queries that began before have ended. */
  readonly otherRowsStay: boolean
  /** Late deletes take only rows that are older than what is known. */
  readonly deletesCompareStamps: boolean
  /** A cleaner deletes when the queries have ended that began before its read. */
  readonly cleanersWait: boolean
  /** A call of several statements reads a shard at one snapshot. */
  readonly oneSnapshot: boolean
  /** A page that needs more rows reads again from its beginning, and the last answer counts. */
  readonly refillsBeginAnew: boolean
  /** The ranges of a value list on one shard are one statement. */
  readonly listsAreOneStatement: boolean
  /** An intersection opens the snapshots of exact indexes before it reads others. */
  readonly snapshotsComeFirst: boolean
  /** An intersection reads all of its exact indexes on a shard at one snapshot. */
  readonly oneSnapshotForAllIndexes: boolean
  /** An answer that began on a replica begins anew if the server changes. */
  readonly oneServer: boolean
  /** Rows go at once only when no query of a program that does not protect itself is in flight, or can begin. */
  readonly oldReadersAreKeptOut: boolean
  /** A query reads by one catalog from its beginning to its end, or begins anew. */
  readonly oneCatalog: boolean
  /** A query reads a replica only if the replica shows the catalog by which the query reads. */
  readonly replicasShowCatalog: boolean
  /** Reads go to the target only when no commit writes at the source alone. */
  readonly allWriteBeforeReads: boolean
  /** Commits write at the target alone only when no query reads at the source. */
  readonly readersAreAwaited: boolean
  /** A join takes the entity beside the row only if its shard owns it. */
  readonly joinsCheckOwner: boolean
}

export const allNearGuards: NearGuards = {
  farRowsFirst: true,
  swapsCompareVersions: true,
  greatestStampStays: true,
  rowsBeforeSwap: true,
  deletesAfterSwap: true,
  deletesAreForWinners: true,
  commitsAreFenced: true,
  allRowsFit: true,
  keptRowsCount: true,
  everyIndexCounts: true,
  otherRowsStay: true,
  deletesCompareStamps: true,
  cleanersWait: true,
  oneSnapshot: true,
  refillsBeginAnew: true,
  listsAreOneStatement: true,
  snapshotsComeFirst: true,
  oneSnapshotForAllIndexes: true,
  oneServer: true,
  oldReadersAreKeptOut: true,
  oneCatalog: true,
  replicasShowCatalog: true,
  allWriteBeforeReads: true,
  readersAreAwaited: true,
  joinsCheckOwner: true,
}
