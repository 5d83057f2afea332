import {
  LooseleafError,
  type CallOptions,
  type CatalogEntry,
  type IndexDefinitionData,
} from '@looseleaf/core'
import { isClaimsOf, isInUse, sameRows } from '@looseleaf/index-engine'
import type { DataStore } from '@looseleaf/store'
import { Option, type Command } from 'commander'
import { noIndex } from './find-index.ts'
import { parseWhole } from './parse-whole.ts'

/**
 * A generation of an index as a store has it: the entry of its rows and, where it is unique, that of its claims, which it may
 * share with others.
 */
export interface Generation {
  readonly rows: CatalogEntry
  readonly claims: CatalogEntry | undefined
}

/** Every generation in the store, by name and number; those on their way out, too. */
export function generationsOf(store: DataStore): readonly Generation[] {
  const { indexes } = store.context.catalog.current()
  return indexes
    .filter(({ unique }) => !unique)
    .map((rows) => ({
      rows,
      // Where it is on its way out, those of one that has come in its place are none of its business.
      claims: indexes.find((entry) => isInUse(entry) === isInUse(rows) && isClaimsOf(entry, rows)),
    }))
    .toSorted((a, b) => a.rows.name.localeCompare(b.rows.name) || a.rows.generation - b.rows.generation)
}

/**
 * The generations under a name as the store has them now: `all`, and `chosen` of them the one of this number, or all. Throws
 * `INDEX_NOT_FOUND` with what there is.
 */
export async function generationsNamed(
  store: DataStore,
  name: string,
  number: number | undefined,
  options: CallOptions,
): Promise<{ readonly all: readonly Generation[]; readonly chosen: readonly Generation[] }> {
  const { indexes, silent } = await store.context.catalog.reload(options)
  const all = generationsOf(store).filter(({ rows }) => rows.name === name)
  const chosen = number === undefined ? all : all.filter(({ rows }) => rows.generation === number)
  if (chosen.length > 0) return { all, chosen }
  // A shard that does not answer may know it.
  if (silent[0] !== undefined) throw silent[0]
  if (all.length === 0) throw noIndex(name, indexes)
  throw new LooseleafError(
    'INDEX_NOT_FOUND',
    `Index ${name} has no generation ${number}; it has ${numbersOf(all).join(', ')}.`,
  )
}

/**
 * The one of these generations that a config needs, or the newest where it says nothing of the index. Undefined where the
 * store has none as the config defines it.
 */
export function neededOf(
  generations: readonly Generation[],
  definitions: readonly IndexDefinitionData[],
): Generation | undefined {
  const using = generations.filter(({ rows }) => isInUse(rows))
  const own = definitions.filter(({ name }) => name === using[0]?.rows.name)
  return using.findLast(({ rows }) => own.length === 0 || own.some((one) => sameRows(one, rows)))
}

/** The newest of the generations that go, where a newer one than the one that stays is among them. */
export function newerThan(kept: Generation, going: readonly Generation[]): Generation | undefined {
  const newest = going.filter(({ rows }) => isInUse(rows)).at(-1)
  return newest && newest.rows.generation > kept.rows.generation ? newest : undefined
}

/** Whether a generation can be queried, and its keys are unique where they are to be. */
export function isReady({ rows, claims }: Generation): boolean {
  return rows.state === 'ready' && !rows.hidden && (claims === undefined || claims.state === 'ready')
}

export function numbersOf(generations: readonly Generation[]): number[] {
  return generations.map(({ rows }) => rows.generation)
}

/** `generation 2`, `generations 1, 2`. */
export function generationsText(generations: readonly Generation[]): string {
  return `generation${generations.length === 1 ? '' : 's'} ${numbersOf(generations).join(', ')}`
}

/** How a command names these generations, of so many that there are. */
export function argumentsFor(name: string, generations: readonly Generation[], of: number): string {
  const [first] = generations
  return generations.length > 1 || of === 1 || first === undefined
    ? name
    : `${name} --generation ${first.rows.generation}`
}

export function addGenerationOption(command: Command, what = 'only this generation (default: all)'): Command {
  return command.addOption(new Option('--generation <n>', what).argParser(parseWhole))
}
