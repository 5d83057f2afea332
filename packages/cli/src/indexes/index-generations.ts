import { LooseleafError, type IndexDefinitionData } from '@looseleaf/core'
import { badOption, type CatalogEntry } from '@looseleaf/core/internal'
import { isClaimsOf, isInUse, sameRows, type Catalog } from '@looseleaf/index-engine/internal'
import type { DataStore } from '@looseleaf/store'
import { Option } from 'commander'
import { noIndex } from './find-index.ts'
import type { LooseleafCommand } from '../running/define-command.ts'
import { parseWhole } from '../running/parse-whole.ts'
import type { Invocation } from '../running/invocation.ts'

/**
 * A generation of an index in a store: the catalog entry of its rows and, for a unique index, the entry of its claims.
 * Generations may share claims.
 */
export interface Generation {
  readonly rows: CatalogEntry
  readonly claims: CatalogEntry | undefined
}

/** Returns all generations of the store, also retiring ones, ordered by name and number. */
export function generationsOf(store: DataStore): readonly Generation[] {
  const { indexes } = store.context.catalog.current()
  return indexes
    .filter(({ unique }) => !unique)
    .map((rows) => ({
      rows,
      // A retiring generation leaves its successor's claims alone.
      claims: indexes.find((entry) => isInUse(entry) === isInUse(rows) && isClaimsOf(entry, rows)),
    }))
    .toSorted((a, b) => a.rows.name.localeCompare(b.rows.name) || a.rows.generation - b.rows.generation)
}

/** Generations of an index: all of them, and those that a command is about. */
export interface ChosenGenerations {
  readonly name: string
  readonly all: readonly Generation[]
  readonly chosen: readonly Generation[]
}

/**
 * Reloads the catalog and returns the generations of each of these indexes: `all`, and as `chosen` the one with this number, or all
 * without a number. Throws `INDEX_NOT_FOUND` with the names or numbers that exist, and `BAD_OPTION` for a number together with several
 * names.
 */
export async function generationsOfEach(
  { openStore, signal }: Pick<Invocation, 'openStore' | 'signal'>,
  given: readonly string[],
  number: number | undefined,
): Promise<readonly ChosenGenerations[]> {
  const names = [...new Set(given)]
  if (number !== undefined && names.length > 1) {
    throw badOption(
      `--generation ${number} is the number of a generation of one index; got ${names.length} names. Give one name.`,
    )
  }
  const store = await openStore()
  const catalog = await store.context.catalog.reload({ signal })
  return names.map((name) => generationsIn(store, catalog, name, number))
}

/** As `generationsOfEach`, for one index. */
export async function generationsNamed(
  invocation: Pick<Invocation, 'openStore' | 'signal'>,
  name: string,
  number: number | undefined,
): Promise<ChosenGenerations> {
  const [found] = await generationsOfEach(invocation, [name], number)
  return found as ChosenGenerations
}

/** Returns the generations of an index by a catalog that was just reloaded. */
function generationsIn(
  store: DataStore,
  { indexes, silent }: Catalog,
  name: string,
  number: number | undefined,
): ChosenGenerations {
  const all = generationsOf(store).filter(({ rows }) => rows.name === name)
  const chosen = number === undefined ? all : all.filter(({ rows }) => rows.generation === number)
  if (chosen.length > 0) return { name, all, chosen }
  // The catalog of a silent shard may have the index.
  if (silent[0] !== undefined) throw silent[0]
  if (all.length === 0) throw noIndex(name, indexes)
  throw new LooseleafError(
    'INDEX_NOT_FOUND',
    `Index ${name} has no generation ${number}; it has ${numbersOf(all).join(', ')}.`,
  )
}

/**
 * Returns the generation that the config defines, or the newest one if the config does not have the index. Undefined if the
 * config's definition is not in the store.
 */
export function neededGeneration(
  generations: readonly Generation[],
  definitions: readonly IndexDefinitionData[],
): Generation | undefined {
  const using = generations.filter(({ rows }) => isInUse(rows))
  const named = definitions.filter(({ name }) => name === using[0]?.rows.name)
  return using.findLast(
    ({ rows }) => named.length === 0 || named.some((definition) => sameRows(definition, rows)),
  )
}

/** Returns the newest generation to be removed if it is newer than the kept one. */
export function newerThan(kept: Generation, removed: readonly Generation[]): Generation | undefined {
  const newest = removed.filter(({ rows }) => isInUse(rows)).at(-1)
  return newest && newest.rows.generation > kept.rows.generation ? newest : undefined
}

/** Tells whether a generation can be queried, and whether the keys of a unique index are all claimed. */
export function isReady({ rows, claims }: Generation): boolean {
  return rows.state === 'ready' && !rows.hidden && (claims === undefined || claims.state === 'ready')
}

export function numbersOf(generations: readonly Generation[]): number[] {
  return generations.map(({ rows }) => rows.generation)
}

/** Returns a text such as `generation 2` or `generations 1, 2`. */
export function generationsText(generations: readonly Generation[]): string {
  return `generation${generations.length === 1 ? '' : 's'} ${numbersOf(generations).join(', ')}`
}

/** Returns the arguments of a command that name these generations. `total` is the number of all generations of the index. */
export function argumentsFor(name: string, generations: readonly Generation[], total: number): string {
  const [first] = generations
  return generations.length > 1 || total === 1 || first === undefined
    ? name
    : `${name} --generation ${first.rows.generation}`
}

export interface GenerationOption {
  readonly generation?: number
}

export function addGenerationOption(
  command: LooseleafCommand,
  description = 'only this generation (default: all)',
): LooseleafCommand {
  return command.addOption(new Option('--generation <n>', description).argParser(parseWhole))
}
