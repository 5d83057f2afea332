import { defineCommand, type AddCommand } from '../../define-command.ts'
import { addGenerationOption, generationsNamed } from '../../index-generations.ts'
import { addTakeOutOptions, takeOut, TAKE_OUT_JSON, type TakeOutOptions } from './take-out.ts'

/** `looseleaf index drop`: hides an index, and drops it when it is hidden. */
export const addDropIndex: AddCommand = (group, run) => {
  const command = defineCommand(group, {
    usage: 'drop <name>',
    summary: 'Hide an index; given again, drop it and its tables',
    details: `The first time the index is hidden: queries of it are refused, and writers go on writing it, so that \`looseleaf index restore\` brings it back at once. The second time, and with --now, its tables are dropped. Entities are not touched, so it can be added and filled again. A changed definition is a generation of its own; \`looseleaf index swap\` takes the old ones out. Asks before each step; where there is no terminal it needs --yes.\n\nJSON: ${TAKE_OUT_JSON}`,
    examples: [
      ['index drop entries_by_link', 'hide it; the same again drops it on every shard'],
      ['index drop entries_by_link --dry-run', 'which step is next'],
      ['index drop entries_by_link --generation 1 --now --yes', 'an old one at once, without a question'],
    ],
  })
  addTakeOutOptions(addGenerationOption(command)).action(
    (name: string, options: TakeOutOptions & { readonly generation?: number }) =>
      run(options, async (session) => {
        const { signal } = session
        const store = await session.store()
        const { all, chosen } = await generationsNamed(store, name, options.generation, { signal })
        const which = options.generation === undefined ? name : `${name} --generation ${options.generation}`
        return takeOut(session, name, chosen, { all, again: `looseleaf index drop ${which}` }, options)
      }),
  )
}
