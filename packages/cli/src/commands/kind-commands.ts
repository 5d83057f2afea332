import { LooseleafError } from '@looseleaf/core'
import { upgradeKinds, type AnyKind, type UpgradeResult } from '@looseleaf/kinds'
import { defineCommand, type AddCommand } from '../define-command.ts'
import type { CommonOptions, Settings } from '../session.ts'
import { counted, grouped } from '../text.ts'

const DETAILS = `Reads the whole store, and writes each entity that is stored in an older shape
of the config’s kinds, with its index rows. May be stopped and started again at any
time, and run while the site is live: entities of an old shape are read in the
newest one all the while. Start it when every process of the site has the new
upgrades.

JSON:
  { "scanned": entities of the store that were read,
    "upgraded": { kind: entities written } }`

/** `looseleaf kind …`: what is done to all entities of a kind. */
export const addKindCommands: AddCommand = (program, run) => {
  const group = program
    .command('kind')
    .summary('Bring old shapes of entities up')
    .description('Bring old shapes of entities up.')
    .helpCommand(false)
  defineCommand(group, {
    usage: 'upgrade [names...]',
    summary: 'Write every entity of an old shape in the newest one',
    details: DETAILS,
    examples: [
      ['kind upgrade', 'all kinds of the config'],
      ['kind upgrade person', 'one of them'],
    ],
  }).action((names: readonly string[], options: CommonOptions) =>
    run(options, async (session) => {
      const { output, signal } = session
      const kinds = kindsNamed(await session.settings(), names)
      const store = await session.store()
      const progress = output.progress({ label: 'upgrade', unit: 'entities' })
      const onProgress = ({ scanned }: UpgradeResult): void => progress.update(scanned, undefined)
      const result = await upgradeKinds(store, kinds, { signal, onProgress }).finally(() => progress.stop())
      output.result(result, () =>
        [
          ...Object.entries(result.upgraded).map(([kind, count]) => `${kind}: ${grouped(count)} upgraded`),
          `${counted(result.scanned, 'entity', 'entities')} of the store read.`,
        ].join('\n'),
      )
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
