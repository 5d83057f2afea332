import { LooseleafError } from '@looseleaf/core'
import { InvalidArgumentError } from 'commander'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes } from '../exit-codes.ts'
import { indexTable } from '../index-table.ts'
import type { CommonOptions, Settings } from '../session.ts'
import { listViolations } from './violations.ts'

interface DropOptions extends CommonOptions {
  readonly generation?: number
}

/** `looseleaf index add|drop|violations|list`. */
export const addIndexCommands: AddCommand = (program, run) => {
  const group = program
    .command('index')
    .summary('Add, drop, list or look into indexes')
    .description('Add, drop, list or look into indexes.')
    .helpCommand(false)

  defineCommand(group, {
    usage: 'add <name>',
    summary: 'Add an index of the config to a store in use',
    details:
      'Writers write it from now on; it can be queried when `looseleaf clean` has filled it. A changed definition becomes a new generation beside the old one.\n\nJSON: { "name", "generation", "table", "state", "columns", "shardOn", "claims": the state of these, where it is unique }',
    examples: [['index add entries_by_link', 'the definition of this name in looseleaf.config.ts']],
  }).action((name: string, options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const definition = definitionNamed(await session.settings(), name)
      const store = await session.store()
      await store.addIndex(definition, { signal })
      const own = (await store.indexes({ signal }))
        .filter((index) => index.name === name)
        .toSorted((a, b) => b.generation - a.generation)
      const added = own.find(({ unique }) => !unique)
      const claims = definition.unique ? own.find(({ unique }) => unique)?.state : undefined
      const state = added?.state === 'ready' ? claims : added?.state
      output.result({ ...added, ...(claims && { claims }) }, () =>
        state === undefined || state === 'ready'
          ? `Index ${name} is ready.`
          : `Index ${name} is ${state}${added?.state === 'ready' ? ' its claims' : ''}. Fill it with: looseleaf clean --index ${name}`,
      )
    }),
  )

  defineCommand(group, {
    usage: 'drop <name>',
    summary: 'Drop an index and its tables, all generations of it',
    details:
      'Entities are not touched, so it can be added and filled again. A changed definition is a generation of its own: drop the old one with --generation when nothing queries it any more.\n\nJSON: { "dropped": true or false, "generations": [number] }',
    examples: [
      ['index drop entries_by_link', 'drop it on every shard'],
      ['index drop entries_by_link --generation 1', 'the old one, as `index list` shows it'],
    ],
  })
    .option('--generation <n>', 'only this generation (default: all)', parseGeneration)
    .action((name: string, options: DropOptions) =>
      run(options, async (session) => {
        const { output, signal } = session
        const { generation } = options
        const store = await session.store()
        await store.indexes({ signal })
        const going = store.context.catalog.current().indexes.filter(
          // Claims go with the rows that they belong to.
          (entry) =>
            entry.name === name &&
            !entry.unique &&
            (generation === undefined || entry.generation === generation),
        )
        const generations = going.map((entry) => entry.generation)
        const words = generationsText(generation === undefined ? generations : [generation])
        if (going.length > 0) output.note(`Dropping index ${name}, ${words} …`)
        const which = generation === undefined ? name : going[0]
        const dropped = which !== undefined && (await store.dropIndex(which, { signal }))
        output.result({ dropped, generations }, () =>
          dropped
            ? `Index ${name}, ${words}, is dropped.`
            : `There is no index ${name}${generation === undefined ? '' : ` of ${words}`}.`,
        )
        return dropped ? exitCodes.ok : exitCodes.found
      }),
    )

  defineCommand(group, {
    usage: 'violations <name>',
    summary: 'List the entities that share a key of a unique index',
    details:
      'The claims of a unique index that is added over entities which share keys become ready when these have been changed or deleted, and `looseleaf clean` has run again. Reads every entity and changes nothing. The exit code is 1 when there are some, or when keys are claimed by nobody yet.\n\nJSON: { "violations": [{ "entity", "holder" }], "unclaimed" }: both have one key, and the holder has claimed it',
    examples: [['index violations users_by_mail', 'who has to get another key']],
  }).action((name: string, options: CommonOptions) =>
    run(options, (session) => listViolations(session, name)),
  )

  defineCommand(group, {
    usage: 'list',
    summary: 'List the indexes of a store',
    details:
      'JSON: { "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn", "unique": true for claims }] }',
    examples: [['index list', 'those of the store that the config names']],
  }).action((options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const indexes = await (await session.store()).indexes({ signal })
      output.result({ indexes }, () => (indexes.length === 0 ? 'No indexes.' : indexTable(output, indexes)))
    }),
  )
}

function generationsText(generations: readonly number[]): string {
  return `generation${generations.length === 1 ? '' : 's'} ${generations.join(', ')}`
}

function parseGeneration(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It has to be a whole number, 1 or more.')
  return Number(text)
}

function definitionNamed({ indexes, file }: Settings, name: string): Settings['indexes'][number] {
  const found = indexes.find((index) => index.name === name)
  if (found !== undefined) return found
  const where =
    file === undefined ? 'There is no config file, and' : `${file} has no index ${JSON.stringify(name)};`
  const names = indexes.map((index) => index.name).join(', ') || 'none'
  throw new LooseleafError(
    'INDEX_NOT_FOUND',
    `${where} an index is added by its definition in the config${file === undefined ? '' : `, which has ${names}`}.`,
  )
}
