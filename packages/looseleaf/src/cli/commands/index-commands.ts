import { LooseleafError } from '@looseleaf/core'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes } from '../exit-codes.ts'
import { indexTable } from '../index-table.ts'
import type { CommonOptions, Settings } from '../session.ts'

/** `looseleaf index add|drop|list`. */
export const addIndexCommands: AddCommand = (program, run) => {
  const group = program
    .command('index')
    .summary('Add, drop or list indexes')
    .description('Add, drop or list indexes.')
    .helpCommand(false)

  defineCommand(group, {
    usage: 'add <name>',
    summary: 'Add an index of the config to a store in use',
    details:
      'Writers write it from now on; it can be queried when `looseleaf clean` has filled it. A changed definition becomes a new generation beside the old one.\n\nJSON: { "name", "generation", "table", "state", "columns", "shardOn" }',
    examples: [['index add entries_by_link', 'the definition of this name in looseleaf.config.ts']],
  }).action((name: string, options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const definition = definitionNamed(await session.settings(), name)
      const store = await session.store()
      await store.addIndex(definition, { signal })
      const [added] = (await store.indexes({ signal }))
        .filter((index) => index.name === name)
        .toSorted((a, b) => b.generation - a.generation)
      output.result(added, () =>
        added?.state === 'ready'
          ? `Index ${name} is ready.`
          : `Index ${name} is ${added?.state}. Fill it with: looseleaf clean --index ${name}`,
      )
    }),
  )

  defineCommand(group, {
    usage: 'drop <name>',
    summary: 'Drop an index and its tables, all generations of it',
    details:
      'Entities are not touched, so it can be added and filled again.\n\nJSON: { "dropped": true or false }',
    examples: [['index drop entries_by_link', 'drop it on every shard']],
  }).action((name: string, options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const dropped = await (await session.store()).dropIndex(name, { signal })
      output.result({ dropped }, () => (dropped ? `Index ${name} is dropped.` : `There is no index ${name}.`))
      return dropped ? exitCodes.ok : exitCodes.found
    }),
  )

  defineCommand(group, {
    usage: 'list',
    summary: 'List the indexes of a store',
    details: 'JSON: { "indexes": [{ "name", "generation", "table", "state", "columns", "shardOn" }] }',
    examples: [['index list', 'those of the store that the config names']],
  }).action((options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const indexes = await (await session.store()).indexes({ signal })
      output.result({ indexes }, () => (indexes.length === 0 ? 'No indexes.' : indexTable(output, indexes)))
    }),
  )
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
