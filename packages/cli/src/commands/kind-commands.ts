import { LooseleafError } from '@looseleaf/core'
import { upgradeKinds, type AnyKind, type UpgradeResult } from '@looseleaf/kinds'
import { defineCommand, type AddCommand } from '../define-command.ts'
import { exitCodes } from '../exit-codes.ts'
import type { CommonOptions, Settings } from '../session.ts'
import { counted, grouped } from '../text.ts'

const DETAILS = `Reads the whole store, and writes each entity of the config’s kinds that is
stored in an older shape, without a default of its schema or under a former
name of its kind, with its index rows. May be stopped and started again at any
time, and run while the site is live: such entities are read in the newest
shape, with defaults, all the while. Indexes have the stored values, so run it
before you query one by a default. Start it when every process of the site has
the new upgrades.

Ends with 1 where an entity cannot be upgraded: its upgrade fails, or the
entity does not fit the schema. Such entities are listed and stay as they are.

JSON:
  { "scanned": entities of the store that were read,
    "upgraded": { kind: entities written },
    "failed": [{ "id", "message" }] }`

/** `looseleaf kind …`: what is done to all entities of a kind. */
export const addKindCommands: AddCommand = (program, run) => {
  const group = program
    .command('kind')
    .summary('Bring old shapes of entities up')
    .description('Bring old shapes of entities up.')
    .helpCommand(false)
  defineCommand(group, {
    usage: 'upgrade [names...]',
    summary: 'Write entities of an old shape, former name or missing default anew',
    details: DETAILS,
    examples: [
      ['kind upgrade', 'all kinds of the config'],
      ['kind upgrade person --dry-run', 'what would be written of one of them, and what fails'],
    ],
  })
    .option('--dry-run', 'write nothing')
    .action((names: readonly string[], options: CommonOptions & { readonly dryRun?: boolean }) =>
      run(options, async (session) => {
        const { output, signal } = session
        const kinds = kindsNamed(await session.settings(), names)
        const store = await session.store()
        const progress = output.progress({ label: 'upgrade', unit: 'entities' })
        const onProgress = ({ scanned }: UpgradeResult): void => progress.update(scanned, undefined)
        const { dryRun } = options
        const { failed, complete, ...result } = await upgradeKinds(store, kinds, {
          signal,
          dryRun,
          onProgress,
        }).finally(() => progress.stop())
        const problems = failed.map(({ id, error }) => ({ id, message: error.message }))
        output.result({ ...result, failed: problems }, () =>
          [
            ...Object.entries(result.upgraded).map(
              ([kind, count]) => `${kind}: ${grouped(count)} ${dryRun ? 'to be ' : ''}upgraded`,
            ),
            ...problems.map(({ id, message }) => `${output.colors.red('Failed:')} ${id}: ${message}`),
            `${counted(result.scanned, 'entity', 'entities')} of the store read.`,
          ].join('\n'),
        )
        return complete ? exitCodes.ok : exitCodes.found
      }),
    )
}

/** Those of the config with these names, or all. */
function kindsNamed({ kinds, file }: Settings, names: readonly string[]): readonly AnyKind[] {
  const known = kinds.map(({ name }) => name)
  const where = file ?? 'A looseleaf.config.ts'
  if (kinds.length === 0) {
    throw new LooseleafError(
      'BAD_OPTION',
      `${where} has no kinds; it needs \`kinds: [ … ]\` with what defineKind(…) gives.`,
    )
  }
  const other = names.find((name) => !known.includes(name))
  if (other !== undefined) {
    throw new LooseleafError(
      'BAD_OPTION',
      `${where} has no kind ${JSON.stringify(other)}; it has ${known.join(', ')}.`,
    )
  }
  return names.length === 0 ? kinds : kinds.filter(({ name }) => names.includes(name))
}
