import type { StoredDefinition } from '@looseleaf/core'
import { brokenText, lookAtBodies } from '@looseleaf/store'
import type { Command } from 'commander'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes } from '../exit-codes.ts'
import { parseWhole } from '../parse-whole.ts'
import type { Output } from '../output.ts'
import type { Runner } from '../run-action.ts'
import type { CommonOptions } from '../session.ts'
import { counted, grouped, printable } from '../text.ts'

const SHOW_DETAILS = `Shapes are the names of properties that bodies leave out, dictionaries what they
are compressed by. Both stay for ever, since bodies refer to them. Each is on
every shard; one that a shard lacks is put back by the next process that opens
the store.

Looks at the oldest bodies of each shard and at those that were written last,
too: one that they refer to and no shard has is listed without bytes. The exit
code is 1 for such, and when a shard lacks one, or its row is damaged.

JSON: [{ "id", "kind", "bytes" | null, "added" | null,
         "shards": those that have it whole, "damagedOn": those whose row is damaged,
         "names": of a shape }]`

const TRAIN_DETAILS = `Reads the entities that were written last, and stores on every shard what many
of them have in common. Processes whose codec has \`dictionary: true\` compress
by it from then on: each as soon as it is opened or meets a body of another that
does. The first time it takes five seconds. Train again when entities have
changed much; earlier dictionaries are kept.

The exit code is 1 when there is too little to train on.

JSON: { "id", "bytes", "sample": entities it was made of,
        "unreadable": entities that could not be read }`

/** `looseleaf codec …`: what stored bodies refer to. */
export const addCodecCommands: AddCommand = (program, run) => {
  const group = program
    .command('codec')
    .summary('Show shapes and dictionaries, or train a dictionary')
    .description('Show shapes and dictionaries, or train a dictionary.')
    .helpCommand(false)
  addShow(group, run)
  addTrain(group, run)
}

/** Bodies of a shard that are looked at: so many of the oldest, and of those that were written last. */
const BODIES = 100

interface ShownDefinition {
  readonly id: string
  readonly kind: string
  /** Null for one that no shard has. */
  readonly bytes: number | null
  /** ISO 8601. */
  readonly added: string | null
  readonly shards: readonly string[]
  readonly damagedOn: readonly string[]
  readonly names?: unknown
}

function addShow(group: Command, run: Runner): void {
  defineCommand(group, {
    usage: 'show',
    summary: 'List the shapes and dictionaries of the store',
    details: SHOW_DETAILS,
    examples: [['codec show', 'what bodies refer to']],
  }).action((options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const store = await session.store()
      const { shards } = store.context.driver
      const onShards = await Promise.all(
        shards.map(async ({ name, definitions }) => {
          const rows = await definitions.all({ signal })
          return rows.map((row) => [name, row] as const)
        }),
      )
      const byId = Map.groupBy(onShards.flat(), ([, { id }]) => id)
      const look = await lookAtBodies(store.context, { rows: BODIES, signal })
      const stored = Array.from(byId.values(), (rows): ShownDefinition => {
        const [, first] = rows[0] as (typeof rows)[number]
        const { id, kind, bytes, added } = first
        const damagedOn = look.broken.find((one) => one.id === id)?.damagedOn ?? []
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
              definitionTable(output, shown, shards.length),
              ...look.broken.map((one) => {
                const { about, what, todo } = brokenText(one, look)
                return `${output.colors.red('Error:')} ${printable(about)}: ${what}. To do: ${todo}.`
              }),
            ].join('\n'),
      )
      return shown.every((one) => one.shards.length === shards.length) ? exitCodes.ok : exitCodes.found
    }),
  )
}

function definitionTable(output: Output, shown: readonly ShownDefinition[], shards: number): string {
  return output.table(
    ['ID', 'KIND', 'BYTES', 'ADDED', 'SHARDS', 'NAMES'],
    shown.map(({ id, kind, bytes, added, shards: having, damagedOn, names }) => [
      printable(id),
      printable(kind),
      bytes === null ? '' : grouped(bytes),
      added ?? '',
      `${having.length} of ${shards}${damagedOn.length === 0 ? '' : `, damaged on ${damagedOn.length}`}`,
      names === undefined ? '' : printable(shortened(JSON.stringify(names))),
    ]),
  )
}

const NAMES_WIDTH = 100

/** Ends with an ellipsis where there is more; `--json` has all. */
function shortened(text: string): string {
  return text.length <= NAMES_WIDTH ? text : `${text.slice(0, NAMES_WIDTH - 1)}…`
}

/** Undefined for what is no shape. */
function namesOf({ kind, bytes }: StoredDefinition): unknown {
  if (kind !== 'shape') return undefined
  try {
    return JSON.parse(Buffer.from(bytes).toString())
  } catch {
    return undefined
  }
}

interface TrainCommandOptions extends CommonOptions {
  readonly sample?: number
  readonly bytes?: number
}

function addTrain(group: Command, run: Runner): void {
  defineCommand(group, {
    usage: 'train',
    summary: 'Make a dictionary of the entities that were written last',
    details: TRAIN_DETAILS,
    examples: [
      ['codec train', 'of the last 2,000 entities'],
      ['codec train --sample 10000 --bytes 8192', 'of more, and twice as long'],
    ],
  })
    .option('--sample <n>', 'entities that are looked at (default: 2000)', parseWhole)
    .option('--bytes <n>', 'the most bytes of the dictionary (default: 4096)', parseWhole)
    .action(({ sample, bytes, ...options }: TrainCommandOptions) =>
      run(options, async (session) => {
        const { output, signal } = session
        const store = await session.store()
        const trained = await store.trainDictionary({ sample, bytes, signal })
        output.result(
          trained,
          () =>
            `Dictionary ${trained.id} of ${grouped(trained.bytes)} bytes, made of ${counted(trained.sample, 'entity', 'entities')}, is stored on every shard.${trained.unreadable === 0 ? '' : ` ${counted(trained.unreadable, 'entity', 'entities')} could not be read, and had no part in it.`}
Processes whose codec has \`dictionary: true\` compress by it; others read what is written so.`,
        )
      }),
    )
}
