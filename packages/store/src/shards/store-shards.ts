import type { CallOptions } from '@looseleaf/core'
import { badArgument, checkOptions } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { MoveOptions, MoveReport, PlannedMove } from '@looseleaf/mover'
import { movesIn, tunedMoveBuckets, tunedUndoMove } from '@looseleaf/mover/internal'
import { optionsOf } from '../call-options.ts'
import type { StoreCalls } from '../observing/store-calls.ts'
import { addShard, type AddedShard, type AddShardOptions } from './add-shard.ts'
import { listShards, type ListedShard } from './list-shards.ts'
import { repairShards, type RepairReport } from './repair-shards.ts'

/**
 * The shards of a store: `store.shards`. Calls that move buckets may take hours. They may be ended at any point by their `signal`, and by
 * `close`, which does not wait for them: the moves stay announced, and `repair` in any process goes on with them.
 */
export interface StoreShards {
  /** Lists all shards by number. Shards that do not answer have their error. Rejects if no shard answers. */
  list(options?: CallOptions): Promise<readonly ListedShard[]>
  /**
   * Makes an empty database a shard of the store, while the store is in use. Takes an address such as `host:port/database`, whose
   * credentials come from the driver, or a URL or options with credentials of their own. A joined shard owns no buckets yet, so no
   * entity is stored there.
   *
   * Checks the database first, and changes nothing if it does not fit. Needs every shard. Any step may be repeated: after a crash or an
   * error, call it again with the same address. Resolves with `added: false` if the shard had joined before. Rejects with
   * `LAYOUT_MISMATCH` for a database of another store, for a second address of a shard, and for a store whose router has no buckets.
   */
  add(shard: string | object, options?: AddShardOptions): Promise<AddedShard>
  /**
   * Moves buckets from one shard to another, while the store is in use, and resolves with the report of the move when it is over. The same
   * call, repeated, goes on with the move. While another process works on it, the call waits.
   *
   * Rejects with `BAD_OPTION` for a move that is impossible; `CONFLICT` if another move has one of the buckets, or if copies differ from
   * their source; `ABORTED`; and with errors of shards that stay down.
   */
  move(planned: PlannedMove, options?: MoveOptions): Promise<MoveReport>
  /** Reports the moves that are not over, in the order of their announcement. */
  moves(options?: CallOptions): Promise<readonly MoveReport[]>
  /**
   * Undoes a move of which no bucket was handed over: the source keeps its buckets, and the copies are deleted. Waits while another process
   * works on the move. Rejects with `CONFLICT` once a bucket was handed over: `repair` ends the move, and another move brings the buckets
   * back. Rejects with `BAD_OPTION` for a number that is not that of a move that is not over.
   */
  undo(move: number, options?: MoveOptions): Promise<MoveReport>
  /**
   * Ends what other processes have left half done: goes on with every move that is not over, one after the other. Repeatable, and useful
   * after every crash.
   */
  repair(options?: MoveOptions): Promise<RepairReport>
}

export function createStoreShards(context: EngineContext, calls: StoreCalls): StoreShards {
  const store = { context }
  return {
    async list(options = {}) {
      checkOptions('shards.list', options, optionsOf.call)
      return calls.pass('shards.list', () => listShards(context, options))
    },
    async add(shard, options = {}) {
      checkOptions('shards.add', options, optionsOf.addShard)
      return calls.pass('shards.add', () => addShard(context, shard, options))
    },
    async move(planned, options = {}) {
      checkOptions('shards.move', options, optionsOf.move)
      calls.checkOpen()
      return tunedMoveBuckets(store, planned, options)
    },
    async moves(options = {}) {
      checkOptions('shards.moves', options, optionsOf.call)
      return calls.pass('shards.moves', () => movesIn(context, options))
    },
    async undo(move, options = {}) {
      checkOptions('shards.undo', options, optionsOf.move)
      if (!Number.isSafeInteger(move)) throw badArgument('shards.undo', 'the number of a move', move)
      calls.checkOpen()
      return tunedUndoMove(store, move, options)
    },
    async repair(options = {}) {
      checkOptions('shards.repair', options, optionsOf.move)
      calls.checkOpen()
      return repairShards(context, options)
    },
  }
}
