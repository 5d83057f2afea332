import { LooseleafError } from '@looseleaf/core'
import { counted } from '@looseleaf/core/internal'
import { presentShards } from '@looseleaf/index-engine/internal'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { indexTable } from '../indexes/index-table.ts'

const DETAILS = `You can run it again at any time: it only adds missing tables and indexes. The
indexes of a new store are ready at once. Indexes added to a store in use are
building until \`looseleaf clean\` has filled them. An index whose table is
missing on a shard, as after a restore, gets a new generation, which is building
too.

JSON:
  { "storeId", "shards": [name],
    "indexes": [{ "name", "generation", "table", "state", "columns",
      "shardOn" }] }`

export const addInit: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'init',
    summary: 'Create the tables of a store and add the indexes of the config',
    details: DETAILS,
    examples: [
      ['init', 'the store of the config'],
      [`init --shards 'sqlite:other?shards=2'`, 'a store of two SQLite files, without indexes'],
      ['init --accept-empty-shards', 'replace a shard whose data is lost for good by an empty one'],
    ],
  })
    .option('--accept-empty-shards', 'initialize empty shards of a store in use, whose data is lost for good')
    .does(async (invocation, options: { readonly acceptEmptyShards?: boolean }) => {
      const { output } = invocation
      const store = await invocation.openStore({
        migrate: true,
        acceptEmptyShards: options.acceptEmptyShards === true,
      })
      const { driver, catalog } = store.context
      const [silent] = catalog.current().silent
      if (silent !== undefined) {
        throw new LooseleafError(silent.code, `Nothing was done: init needs every shard. ${silent.message}`, {
          shard: silent.shard,
          cause: silent,
        })
      }
      const indexes = await store.indexes({ signal: invocation.signal })
      const result = {
        storeId: catalog.current().storeId,
        shards: presentShards(driver).map((shard) => shard.name),
        indexes,
      }
      output.result(result, () => {
        // An index has several lines if it has claims, or a second generation.
        const names = namesOf(indexes)
        const building = namesOf(indexes.filter(({ state }) => state === 'building'))
        return [
          `The store is ready: ${counted(result.shards.length, 'shard', 'shards')}, ${counted(names.length, 'index', 'indexes')}.`,
          ...(indexes.length === 0 ? [] : ['', indexTable(output, indexes)]),
          ...(building.length === 0 ? [] : ['', `Fill ${building.join(', ')} with: looseleaf clean`]),
        ].join('\n')
      })
    })
}

function namesOf(indexes: readonly { readonly name: string }[]): readonly string[] {
  return [...new Set(indexes.map(({ name }) => name))]
}
