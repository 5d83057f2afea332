import { defineCommand, type AddCommand } from '../../running/define-command.ts'
import { printable } from '../../output/text.ts'

const DETAILS = `The address is host:port/database, with the user of the store's first shard, or a
URL such as mysql://user@host:3306/database, or the path of a SQLite file, from the
store's folder, that ends in .sqlite. The database has to exist and to be empty; a
file is created. A file in another folder is not part of a copy of the store's folder.

Processes of the store learn of the shard within seconds, and connect to it by
its address with their own credentials. The shard owns no buckets yet: no entity
is stored there until \`shard rebalance\` or \`shard move\` gives it some.

After an error, run the command again with the same address. If the command was
killed, the next one waits for a minute first.

JSON: { "number", "address", "added", "warnings": [text] }`

export const addAddShard: AddCommand = (group) => {
  defineCommand(group, {
    usage: 'add <address>',
    summary: 'Make an empty database a shard of the store',
    details: DETAILS,
    examples: [
      ['shard add db3:3306/feed --dry-run', 'check the database and change nothing'],
      ['shard add db3:3306/feed', 'add it'],
    ],
  })
    .option('--dry-run', 'check the database and the rights of its user, and change nothing')
    .does(
      async ({ output, signal, openStore }, address: string, { dryRun }: { readonly dryRun?: boolean }) => {
        const opened = await openStore()
        const before = await opened.shards.list({ signal })
        const result = await opened.shards.add(address, { signal, dryRun: dryRun === true })
        const isMember = ({ address: known, state }: (typeof before)[number]): boolean =>
          known === result.address && state !== 'joining' && state !== 'removed'
        const isNew = dryRun === true ? !before.some(isMember) : result.added
        output.result(result, () =>
          [
            resultText(result, isNew, dryRun === true),
            ...result.warnings.map((warning) => `Warning: ${printable(warning)}`),
          ].join('\n'),
        )
      },
    )
}

function resultText(
  { number, address }: { readonly number: number; readonly address: string },
  isNew: boolean,
  isDry: boolean,
): string {
  const shard = `${printable(address)} `
  if (!isNew) return `${shard}is shard ${number} of the store already. Nothing was changed.`
  if (isDry) return `${shard}fits as shard ${number}. Nothing was changed.`
  return `${shard}is shard ${number} of the store. It owns no buckets yet. Give it some with: looseleaf shard rebalance`
}
