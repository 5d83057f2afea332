import { counted, grouped } from '@looseleaf/core/internal'
import type { StoredCodecEntry } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import { brokenText, inspectBodies } from '@looseleaf/store/internal'
import {
  defineCommand,
  defineGroup,
  type AddCommand,
  type LooseleafCommand,
} from '../running/define-command.ts'
import { exitCodes } from '../running/exit-codes.ts'
import { SAMPLED_BODIES } from '../health/read-facts.ts'
import { parseWhole } from '../running/parse-whole.ts'
import type { Output } from '../output/output.ts'
import { clip, printable } from '../output/text.ts'

const SHOW_DETAILS = `A shape is a list of property names; bodies refer to it instead of repeating
the names. A dictionary is common text by which bodies are compressed. Both stay
forever, because bodies refer to them. Each is on every shard. The next process
that opens the store restores one that a shard lacks.

Also reads the oldest and the newest bodies of each shard. A shape or dictionary
that they refer to and that no shard has is listed without bytes. The exit code
is 1 for such an entry, when a shard lacks one, or when its row is damaged.

JSON: [{ "id", "kind", "bytes" | null, "added" | null,
         "shards": shards that have it,
         "damagedOn": shards whose row is damaged, "names": names of a shape }]`

const TRAIN_DETAILS = `Reads the newest entities and stores their common text on every shard. Each
process whose codec has \`dictionary: true\` compresses by it as soon as it opens
the store, or reads a body that another process has compressed by it. The first
dictionary of a store takes five seconds. Train again when entities have changed
much; earlier dictionaries are kept.

The exit code is 1 when there are too few entities.

JSON: { "id", "bytes", "sample": number of entities used,
        "unreadable": number of entities that could not be read }`

export const addCodecCommands: AddCommand = (program) => {
  const group = defineGroup(program, 'codec', 'Show shapes and dictionaries, or train a dictionary')
  addShow(group)
  addTrain(group)
}

interface ShownEntry {
  readonly id: string
  readonly kind: string
  /** Null if no shard has it. */
  readonly bytes: number | null
  /** ISO 8601. */
  readonly added: string | null
  readonly shards: readonly string[]
  readonly damagedOn: readonly string[]
  readonly names?: unknown
}

function addShow(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'show',
    summary: 'List the shapes and dictionaries of the store',
    details: SHOW_DETAILS,
    examples: [['codec show', 'all shapes and dictionaries']],
  }).does(async ({ output, signal, openStore }) => {
    const store = await openStore()
    const shards = presentShards(store.context.driver)
    const onShards = await Promise.all(
      shards.map(async ({ name, codecEntries }) => {
        const rows = await codecEntries.all({ signal })
        return rows.map((row) => [name, row] as const)
      }),
    )
    const byId = Map.groupBy(onShards.flat(), ([, { id }]) => id)
    const look = await inspectBodies(store.context, { rows: SAMPLED_BODIES, signal })
    const stored = Array.from(byId.values(), (rows): ShownEntry => {
      const [, first] = rows[0] as (typeof rows)[number]
      const { id, kind, bytes, added } = first
      const damagedOn = look.broken.find((entry) => entry.id === id)?.damagedOn ?? []
      const names = namesOf(first)
      return {
        id,
        kind,
        bytes: bytes.length,
        added: new Date(added / 1000).toISOString(),
        shards: rows.map(([name]) => name).filter((name) => !damagedOn.includes(name)),
        damagedOn,
        ...(names !== undefined && { names }),
      }
    })
    const missing = look.broken
      .filter(({ id }) => !byId.has(id))
      .map(({ id, kind }) => ({ id, kind, bytes: null, added: null, shards: [], damagedOn: [] }))
    const shown = [...stored, ...missing]
    output.result(shown, () =>
      shown.length === 0
        ? 'No shapes and no dictionaries.'
        : [
            entryTable(output, shown, shards.length),
            ...look.broken.map((entry) => {
              const { about, problem, instruction } = brokenText(entry, look)
              return `${output.colors.red('Error:')} ${printable(about)}: ${problem}. To do: ${instruction}.`
            }),
          ].join('\n'),
    )
    const isComplete = shown.every((entry) => entry.shards.length === shards.length)
    return isComplete ? exitCodes.ok : exitCodes.found
  })
}

function entryTable(output: Output, shown: readonly ShownEntry[], shards: number): string {
  return output.table(
    ['ID', 'KIND', 'BYTES', 'ADDED', 'SHARDS', 'NAMES'],
    shown.map(({ id, kind, bytes, added, shards: holders, damagedOn, names }) => [
      id,
      kind,
      bytes === null ? '' : grouped(bytes),
      added ?? '',
      `${holders.length} of ${shards}${damagedOn.length === 0 ? '' : `, damaged on ${damagedOn.length}`}`,
      names === undefined ? '' : clip(JSON.stringify(names), NAMES_WIDTH),
    ]),
  )
}

/** Characters of the names of a shape. `--json` has all of them. */
const NAMES_WIDTH = 100

/** Returns the names of a shape; undefined for a dictionary or a damaged row. */
function namesOf({ kind, bytes }: StoredCodecEntry): unknown {
  if (kind !== 'shape') return undefined
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

interface TrainCommandOptions {
  readonly sample?: number
  readonly bytes?: number
}

function addTrain(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'train',
    summary: 'Make a dictionary from the newest entities',
    details: TRAIN_DETAILS,
    examples: [
      ['codec train', 'from the last 2,000 entities'],
      ['codec train --sample 10000 --bytes 8192', 'from more entities, and twice as long'],
    ],
  })
    .option('--sample <n>', 'number of entities to read (default: 2000)', parseWhole)
    .option('--bytes <n>', 'largest size of the dictionary in bytes (default: 4096)', parseWhole)
    .does(async ({ output, signal, openStore }, { sample, bytes }: TrainCommandOptions) => {
      const store = await openStore()
      const trained = await store.trainDictionary({ sample, bytes, signal })
      output.result(
        trained,
        () =>
          `Dictionary ${trained.id} of ${grouped(trained.bytes)} bytes, made from ${counted(trained.sample, 'entity', 'entities')}, is stored on every shard.${trained.unreadable === 0 ? '' : ` ${counted(trained.unreadable, 'entity', 'entities')} could not be read and was left out.`}
Processes whose codec has \`dictionary: true\` compress by it. All other processes can read such bodies.`,
      )
    })
}
