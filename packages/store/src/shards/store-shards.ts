import type { CallOptions } from '@looseleaf/core'
import { checkOptions, requireKind, type OptionKind } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import {
  drainShard,
  listMovesOptionKinds,
  moveBuckets,
  moveOptionKinds,
  movesOf,
  rebalanceShards,
  stopDraining,
  undoMove,
  type ListMovesOptions,
  type MoveOptions,
  type MovePlan,
  type MoveReport,
  type MoveRequest,
  type PlannedMove,
} from '@looseleaf/mover/internal'
import { optionsOf } from '../call-options.ts'
import type { StoreCalls } from '../observing/store-calls.ts'
import { removeShard, type RemoveShardOptions } from './remove-shard.ts'
import { addShard, type AddedShard, type AddShardOptions } from './add-shard.ts'
import { planShards } from './plan-shards.ts'
import { listShards, type ListedShard, type ListShardsOptions } from './list-shards.ts'
import { repairShards, type RepairReport } from './repair-shards.ts'

/**
 * The shards of a store: `store.shards`. Calls that move buckets may take hours. They may be ended at any point by their `signal`, and by
 * `close`, which does not wait for them: the moves stay announced, and `repair` in any process goes on with them.
 */
export interface StoreShards {
  /**
   * Lists all shards by number, with `sizes` also how much they have. Shards that do not answer have their error. Rejects if no shard answers.
   */
  list(options?: ListShardsOptions): Promise<readonly ListedShard[]>
  /**
   * Makes an empty database a shard of the store, while the store is in use. Takes an address such as `host:port/database`, whose
   * credentials come from the driver, or a URL or options with credentials of their own. A joined shard owns no buckets yet, so no
   * entity is stored there.
   *
   * Checks the database and the rights of its user first, and changes nothing if it does not fit. Needs every shard. Any step may be
   * repeated: after a crash or an error, call it again with the same address. Resolves with `added: false` if the shard had joined
   * before. Rejects with `LAYOUT_MISMATCH` for a database of another store, for tables of another program under names of the store's,
   * for a second address of a shard, and for a store whose router has no buckets; with `SHARD_DENIED` for a user without a right.
   */
  add(shard: string | object, options?: AddShardOptions): Promise<AddedShard>
  /**
   * Plans moves and changes nothing: the moves, with exact counts of the rows that go along, and every problem and warning at once. Reads the
   * ids and index rows of each shard that gives buckets, and for a drain and a rebalance of all others too. Rejects with `BAD_OPTION` for
   * a request that names no shard or buckets of the store.
   */
  plan(request: MoveRequest, options?: CallOptions): Promise<MovePlan>
  /**
   * Moves buckets from one shard to another, while the store is in use, and resolves with the report of the move when it is over. If consumers
   * have changes to handle on the source for more than ten seconds, the report has the state `emptying` and names them (`heldUpBy`); a cleaner
   * of the store deletes the rows of the source later, and so does `repair`. The same call, repeated, goes on with an interrupted move, and so does
   * `repair`. While another process works on the move, the call waits. The report has the state `undone` if another process has undone the move, or
   * had begun to.
   *
   * Rejects with `BAD_OPTION` for a move that is impossible; `CONFLICT` if another move has one of the buckets, or if copies differ from
   * their source; `ABORTED`; and with errors of shards that stay down.
   */
  move(planned: PlannedMove, options?: MoveOptions): Promise<MoveReport>
  /**
   * Moves all buckets of a shard to the others, so that these have as equal bytes as possible, and resolves with the reports of the moves when
   * the shard owns nothing. It has deleted what it gave up, except for moves in the state `emptying`, see `move`. From the beginning no
   * other bucket moves to the shard. May be interrupted and repeated in any process. Rejects with `BAD_OPTION` for the last shard that
   * takes buckets, and with `CONFLICT` for all other problems of its plan.
   */
  drain(shard: number, options?: MoveOptions): Promise<readonly MoveReport[]>
  /** Lets a shard take buckets again. A move that is under way goes on; a `drain` in another process ends after it. */
  stopDraining(shard: number, options?: CallOptions): Promise<void>
  /**
   * Moves buckets until all shards that take buckets have about the same bytes, with few moves: a shard above the mean gives, and one below it
   * takes. A bucket that is heavier than the mean stays, and the mean is that of the other shards then; of several such buckets of a shard only the
   * heaviest stays. Moves nothing if all are within five percent of it. Goes on with moves that are not over first. Resolves with the reports of all. Rejects with `CONFLICT` for problems of its plan.
   */
  rebalance(options?: MoveOptions): Promise<readonly MoveReport[]>
  /** Reports the moves that are not over, with `finished` also the last ten that are over, in the order of their announcement. */
  moves(options?: ListMovesOptions): Promise<readonly MoveReport[]>
  /**
   * Undoes a move of which no bucket was handed over: the source keeps its buckets, and the copies are deleted. Waits while another process
   * works on the move. Rejects with `CONFLICT` once a bucket was handed over: `repair` ends the move, and another move brings the buckets
   * back. Rejects with `BAD_OPTION` for a number that is not that of a move that is not over.
   */
  undo(move: number, options?: MoveOptions): Promise<MoveReport>
  /**
   * Ends what other processes have left half done: copies the last catalog to every shard, finishes shards that were joining, lets shards serve
   * buckets that were handed over to them, and goes on with every move that is not over, one after the other. Changes nothing while a
   * shard does not answer, or while a bucket has two owners or none. Resolves with a report that names such faults, and moves that have
   * stopped again. Repeatable, and useful after every crash.
   */
  repair(options?: MoveOptions): Promise<RepairReport>
  /**
   * Removes a shard from the store, while the store is in use. Resolves when no process sends it statements any more, after about twenty
   * seconds: its database may be switched off and deleted then. Its number stays its own, and is never given to another shard.
   *
   * The shard has to be empty: its buckets have moved to other shards (`drain`), and these moves are over. Rejects with a `CONFLICT` that is
   * not retryable, and names everything for which the shard is still needed; nothing was changed then. Needs every shard. Any step may be repeated: after a crash
   * or an error call it again, also if the database does not answer any more.
   */
  remove(shard: number, options?: RemoveShardOptions): Promise<void>
}

const shardNumber: OptionKind = { expected: 'the number of a shard', fits: Number.isSafeInteger }
const moveNumber: OptionKind = { expected: 'the number of a move', fits: Number.isSafeInteger }

export function createStoreShards(context: EngineContext, calls: StoreCalls): StoreShards {
  return {
    async list(options = {}) {
      checkOptions('shards.list', options, optionsOf.listShards)
      return calls.pass('shards.list', () => listShards(context, options))
    },
    async add(shard, options = {}) {
      checkOptions('shards.add', options, optionsOf.addShard)
      return calls.pass('shards.add', () => addShard(context, shard, options))
    },
    async remove(number, options = {}) {
      checkOptions('shards.remove', options, optionsOf.removeShard)
      requireKind('The shard of shards.remove', number, shardNumber)
      return calls.pass('shards.remove', () => removeShard(context, number, options))
    },
    async plan(request, options = {}) {
      checkOptions('shards.plan', options, optionsOf.call)
      return calls.pass('shards.plan', () => planShards(context, request, options))
    },
    async move(planned, options = {}) {
      checkOptions('shards.move', options, moveOptionKinds)
      calls.checkOpen()
      return moveBuckets({ context }, planned, options)
    },
    async drain(shard, options = {}) {
      checkOptions('shards.drain', options, moveOptionKinds)
      requireKind('The shard of shards.drain', shard, shardNumber)
      calls.checkOpen()
      return drainShard(context, shard, options)
    },
    async stopDraining(shard, options = {}) {
      checkOptions('shards.stopDraining', options, optionsOf.call)
      requireKind('The shard of shards.stopDraining', shard, shardNumber)
      return calls.pass('shards.stopDraining', () => stopDraining(context, shard, options))
    },
    async rebalance(options = {}) {
      checkOptions('shards.rebalance', options, moveOptionKinds)
      calls.checkOpen()
      return rebalanceShards(context, options)
    },
    async moves(options = {}) {
      checkOptions('shards.moves', options, listMovesOptionKinds)
      return calls.pass('shards.moves', () => movesOf({ context }, options))
    },
    async undo(move, options = {}) {
      checkOptions('shards.undo', options, moveOptionKinds)
      requireKind('The move of shards.undo', move, moveNumber)
      calls.checkOpen()
      return undoMove({ context }, move, options)
    },
    async repair(options = {}) {
      checkOptions('shards.repair', options, moveOptionKinds)
      calls.checkOpen()
      return repairShards(context, options)
    },
  }
}
