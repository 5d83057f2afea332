import type { CallOptions } from '@looseleaf/core'
import { elapsedBy } from '@looseleaf/core/internal'
import type { EngineContext } from '@looseleaf/index-engine/internal'
import type { LetterList } from '@looseleaf/protocol/internal'
import { editLettersOf, readLetters, type StoredLetter } from '../records/dead-letters.ts'
import type { Failing } from '../records/partition-record.ts'
import type { HeldPartition, PartitionLeases } from './partition-leases.ts'
import { MAX_FAILING } from './row-handler.ts'

/** Letters of a shard that become failing changes: dead ones that `replayDeadLetters` marked, and those that another shard passed on. */
export interface Replays {
  /** Reads such letters of these partitions. Returns none while it is too early to read long lists again, see `READS_PART`. */
  readWanted(
    partitions: readonly HeldPartition[],
    options: CallOptions,
  ): Promise<ReadonlyMap<HeldPartition, WantedLetters>>
  /** Turns letters into failing changes. Dead ones are due now. */
  take(partition: HeldPartition, wanted: WantedLetters, options: CallOptions): Promise<void>
}

type WantedLetters = Readonly<Record<LetterList, readonly StoredLetter[]>>

/** Reading letters takes at most one fiftieth of the time, so long lists are read less often. */
const READS_PART = 50

export function createReplays(
  context: EngineContext,
  consumer: string,
  shard: number,
  leases: Pick<PartitionLeases, 'save'>,
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
        // At most half of the failing changes of a partition come from letters, so that new changes proceed.
        const room = Math.max(0, MAX_FAILING / 2 - partition.failing.size)
        const moved = (letters.moved.get(partition.number) ?? []).slice(0, room)
        const replayed = letters.dead.get(partition.number)?.filter(({ replay }) => replay) ?? []
        return [partition, { moved, dead: replayed.slice(0, room - moved.length) }]
      })
      return new Map(wanted.filter(([, { dead, moved }]) => dead.length + moved.length > 0))
    },
    async take(partition, { dead, moved }, options) {
      const { failing } = partition
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
