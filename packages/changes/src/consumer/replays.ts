import { parseId, type CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import { PARTITIONS, shardAt, type LetterList } from '@looseleaf/protocol/internal'
import { addLetters, editLettersOf, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { DueChanges } from './due-rows.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import type { PassedChanges } from './passed-changes.ts'
import { MAX_FAILING } from './row-handler.ts'

/** Letters of a shard that become failing changes: dead ones that `replayDeadLetters` marked, and those that another shard passed on. */
export interface Replays {
  /** Reads such letters of these partitions. Returns none while it is too early to read long lists again, see `READS_PART`. */
  readWanted(
    partitions: readonly HeldPartition[],
    options: CallOptions,
  ): Promise<ReadonlyMap<HeldPartition, WantedLetters>>
  /** Turns letters into failing changes, of the partitions that have their entities by now. Dead ones are due now. */
  take(partition: HeldPartition, wanted: WantedLetters, options: CallOptions): Promise<void>
  /**
   * Passes failing changes that are to be retried on to the partitions that have their entities by now, and returns the others. A change stays
   * for another pause while the list of the other partition is full. Call it while nothing else of their partitions is in flight.
   */
  withoutMisplaced(due: DueChanges, options: CallOptions): Promise<DueChanges>
}

type WantedLetters = Readonly<Record<LetterList, readonly StoredLetter[]>>

/** Reading letters takes at most one fiftieth of the time, so long lists are read less often. */
const READS_PART = 50

export interface ReplaysOptions {
  readonly leases: Pick<PartitionLeases, 'save'>
  readonly passing: Pick<PassedChanges, 'isOver'>
}

export function createReplays(
  context: EngineContext,
  consumer: string,
  shard: number,
  { leases, passing }: ReplaysOptions,
): Replays {
  const elapsed = elapsedBy(context.time)
  let readsAt = -Infinity

  return {
    async readWanted(partitions, options) {
      const began = elapsed()
      if (partitions.length === 0 || began < readsAt) return new Map()
      const numbers = partitions.map(({ number }) => number)
      const letters = await readLetters(context, consumer, shard, numbers, options)
      readsAt = elapsed() + READS_PART * (elapsed() - began)
      const wanted = partitions.map((partition): readonly [HeldPartition, WantedLetters] => {
        const { room, isTaken } = roomOf(partition)
        const moved = (letters.moved.get(partition.number) ?? []).filter(isTaken).slice(0, room)
        const replayed =
          letters.dead.get(partition.number)?.filter((letter) => letter.replay && isTaken(letter)) ?? []
        return [partition, { moved, dead: replayed.slice(0, room - moved.length) }]
      })
      return new Map(wanted.filter(([, { dead, moved }]) => dead.length + moved.length > 0))
    },
    async take(partition, wanted, options) {
      const { failing } = partition
      const { dead, moved } = await lettersHere(partition, wanted, options)
      for (const letter of dead) failing.set(letter.id, failingOf(letter, 0))
      for (const letter of moved)
        if ((failing.get(letter.id)?.version ?? -1) < letter.version)
          failing.set(letter.id, failingOf(letter, letter.attempts))
      // The change is saved as failing before its letter is removed: a crash in between leaves it in both lists, never in neither.
      await leases.save()
      if (!partition.isHeld) return
      await remove(partition, 'dead', dead, options)
      await remove(partition, 'moved', moved, options)
    },
    async withoutMisplaced(due, options) {
      const here = new Map(due)
      const numberOf = await partitionsOf([...due.keys()], options)
      for (const [partition, some] of Map.groupBy(due, ([, each]) => each)) {
        const changes = some.flatMap(([id]) => partition.failing.get(id) ?? [])
        const { misplaced, added } = await passMisplaced(partition, changes, numberOf, options)
        for (const change of changes.filter(({ id }) => misplaced.has(id))) {
          here.delete(change.id)
          // The partition is saved without the change after the letter, on the same disk. A change without room has another pause: those that are due
          // for longest are retried, and others would never be.
          if (added.has(change.id)) partition.failing.delete(change.id)
          else partition.failing.set(change.id, { ...change })
        }
      }
      return here
    },
  }

  /**
   * Returns how many letters a partition takes, and which ones. At most half of its failing changes come from letters, so that new changes proceed.
   * If it has too many that wait for another shard, it takes letters that it can handle itself:
   * 1. The lists of two shards are full, and both have failing changes to pass on to the other.
   * 2. If these changes left no room for letters, neither list would ever get shorter.
   */
  function roomOf(partition: HeldPartition): {
    readonly room: number
    readonly isTaken: (letter: StoredLetter) => boolean
  } {
    const half = MAX_FAILING / 2
    const { failing } = partition
    const isHere = (change: Failing): boolean => !passing.isOver(change, partition)
    if (failing.size < half) return { room: half - failing.size, isTaken: () => true }
    const here = [...failing.values()].filter(isHere).length
    return { room: Math.max(0, half - here), isTaken: isHere }
  }

  /**
   * Passes letters on to the partitions that have the rows of their entities, and returns the others. An entity gets another partition when it
   * comes back to its shard, and when it is put again after its tombstone was purged. Two partitions would hand its states over at once.
   */
  async function lettersHere(
    partition: HeldPartition,
    { dead, moved }: WantedLetters,
    options: CallOptions,
  ): Promise<WantedLetters> {
    const letters = [...dead.map((letter) => ({ ...letter, attempts: 0 })), ...moved]
    const ids = letters.map(({ id }) => id)
    const { misplaced, added } = await passMisplaced(
      partition,
      letters,
      await partitionsOf(ids, options),
      options,
    )
    const isHere = ({ id }: StoredLetter): boolean => !misplaced.has(id)
    // The removals come after the letters on the same disk.
    const isElsewhere = ({ id }: StoredLetter): boolean => added.has(id)
    await remove(partition, 'dead', dead.filter(isElsewhere), options)
    await remove(partition, 'moved', moved.filter(isElsewhere), options)
    return { dead: dead.filter(isHere), moved: moved.filter(isHere) }
  }

  /** Returns the partitions of these entities, by id, without those that have no row. */
  async function partitionsOf(
    ids: readonly string[],
    options: CallOptions,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await shardAt(context, shard).entities.checksums(ids.map(parseId), options)
    return new Map(
      ids.flatMap((id, i) => {
        const row = rows[i]
        return row === undefined ? [] : [[id, row.addedId % PARTITIONS] as const]
      }),
    )
  }

  /** Adds changes of entities that have another partition to the letters of that one. Returns the ids of all such entities, and of those with room. */
  async function passMisplaced(
    partition: HeldPartition,
    changes: readonly Failing[],
    numberOf: ReadonlyMap<string, number>,
    options: CallOptions,
  ): Promise<{ readonly misplaced: ReadonlySet<string>; readonly added: ReadonlySet<string> }> {
    const numberFor = ({ id }: Failing): number => numberOf.get(id) ?? partition.number
    const elsewhere = changes.filter((change) => numberFor(change) !== partition.number)
    const added = new Set<string>()
    for (const [number, some] of Map.groupBy(elsewhere, numberFor)) {
      const at = { shard, partition: number, list: 'moved' as const }
      const isAdded = await addLetters(context, consumer, at, some, options)
      for (const [i, { id }] of some.entries()) if (isAdded[i]) added.add(id)
    }
    return { misplaced: new Set(elsewhere.map(({ id }) => id)), added }
  }

  async function remove(
    { number }: HeldPartition,
    list: LetterList,
    letters: readonly StoredLetter[],
    options: CallOptions,
  ): Promise<void> {
    if (letters.length === 0) return
    const versions = new Map(letters.map(({ id, version }) => [id, version]))
    const isTaken = ({ id, version, replay }: StoredLetter): boolean =>
      versions.get(id) === version && (replay || list === 'moved')
    const at = { shard, partition: number, list }
    await editLettersOf(context, consumer, at, isTaken, () => [], options)
  }
}

function failingOf({ id, version, error, failedAt }: StoredLetter, attempts: number): Failing {
  return { id, version, attempts, error, failedAt }
}
