import type { CallOptions } from '@looseleaf/core'
import { parseObject, toObject } from '@looseleaf/core/internal'
import { presentNumbers, type EngineContext } from '@looseleaf/index-engine/internal'
import {
  editWhenFree,
  letterTask,
  partitionNumbers,
  shardAt,
  type LetterList,
} from '@looseleaf/protocol/internal'
import { failingIn, type Failing } from './partition-record.ts'

/** A letter as it is stored. `replay` marks a dead one that `replayDeadLetters` wants handled again. */
export interface StoredLetter extends Failing {
  readonly replay: boolean
}

/** The list of letters of a partition. Default: the dead ones. */
interface ListPlace {
  readonly shard: number
  readonly partition: number
  readonly list?: LetterList
}

/** Letters per list. With a full list of dead ones, changes stay failing and the partition stops once it has too many of them. */
const MAX_LETTERS = 10_000

/**
 * Adds letters of a partition. Each replaces the letter that its entity has, of any version: a retry hands over the present state, not that of
 * the letter. Returns for each letter whether there was room.
 */
export async function addLetters(
  context: EngineContext,
  consumer: string,
  { shard, partition, list = 'dead' }: ListPlace,
  letters: readonly Failing[],
  options: CallOptions,
): Promise<readonly boolean[]> {
  let added: readonly boolean[] = []
  const add = (text: string): string => {
    const all = new Map(lettersFromText(text).map((letter) => [letter.id, letter]))
    added = letters.map((letter) => {
      if (!all.delete(letter.id) && all.size >= MAX_LETTERS) return false
      all.set(letter.id, { ...letter, passed: undefined, replay: false })
      return true
    })
    return lettersToText([...all.values()])
  }
  await editWhenFree(context, shard, letterTask(consumer, partition, list), add, options)
  return added
}

/** Returns the given letters whose entity has the same or a later letter in the list. */
export async function foundLetters(
  context: EngineContext,
  consumer: string,
  { shard, partition, list = 'dead' }: ListPlace,
  letters: readonly Failing[],
  options: CallOptions,
): Promise<readonly Failing[]> {
  const state = await shardAt(context, shard).tasks.load(letterTask(consumer, partition, list), options)
  const found = new Map(lettersFromText(state?.progress ?? '').map(({ id, version }) => [id, version]))
  return letters.filter(({ id, version }) => (found.get(id) ?? -1) >= version)
}

export type LettersByPartition = ReadonlyMap<number, readonly StoredLetter[]>

/** Reads the letters of some partitions of a shard. */
export async function readLetters(
  context: EngineContext,
  consumer: string,
  shard: number,
  partitions: readonly number[],
  options: CallOptions,
): Promise<Readonly<Record<LetterList, LettersByPartition>>> {
  const namesOf = (list: LetterList): string[] =>
    partitions.map((partition) => letterTask(consumer, partition, list))
  const names = [...namesOf('dead'), ...namesOf('moved')]
  const states = await shardAt(context, shard).tasks.loadAll(names, options)
  const lettersOf = (list: LetterList): LettersByPartition =>
    new Map(
      namesOf(list).map((name, i) => [
        partitions[i] as number,
        lettersFromText(states.get(name)?.progress ?? ''),
      ]),
    )
  return { dead: lettersOf('dead'), moved: lettersOf('moved') }
}

/** Replaces each picked dead letter of a consumer, on all shards, by the result of `edit`. Returns the number of picked letters. */
export async function editLetters(
  context: EngineContext,
  consumer: string,
  pick: (letter: StoredLetter) => boolean,
  edit: (picked: StoredLetter) => readonly StoredLetter[],
  options: CallOptions,
): Promise<number> {
  const counts = await Promise.all(
    presentNumbers(context.driver).map(async (shard) => {
      const { dead } = await readLetters(context, consumer, shard, partitionNumbers, options)
      const withPicked = partitionNumbers.filter((partition) => dead.get(partition)?.some(pick))
      let picked = 0
      for (const partition of withPicked) {
        picked += await editLettersOf(context, consumer, { shard, partition }, pick, edit, options)
      }
      return picked
    }),
  )
  return counts.reduce((sum, count) => sum + count, 0)
}

/** As `editLetters`, for one list. */
export async function editLettersOf(
  context: EngineContext,
  consumer: string,
  { shard, partition, list = 'dead' }: ListPlace,
  pick: (letter: StoredLetter) => boolean,
  edit: (picked: StoredLetter) => readonly StoredLetter[],
  options: CallOptions,
): Promise<number> {
  let picked = 0
  const editText = (text: string): string => {
    const letters = lettersFromText(text)
    picked = letters.filter(pick).length
    return lettersToText(letters.flatMap((letter) => (pick(letter) ? edit(letter) : [letter])))
  }
  await editWhenFree(context, shard, letterTask(consumer, partition, list), editText, options)
  return picked
}

function lettersToText(letters: readonly StoredLetter[]): string {
  return letters.length === 0 ? '' : JSON.stringify({ letters })
}

function lettersFromText(text: string): StoredLetter[] {
  const list = parseObject(text)?.['letters']
  if (!Array.isArray(list)) return []
  return list.flatMap((item) =>
    failingIn([item]).map((letter) => ({ ...letter, replay: toObject(item)?.['replay'] === true })),
  )
}
