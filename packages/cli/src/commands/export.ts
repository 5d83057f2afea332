import { counted } from '@looseleaf/core/internal'
import { resolve } from 'node:path'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { entityLine } from '../views/entity-view.ts'
import { IncompleteOutput } from '../output/output-error.ts'
import type { Invocation } from '../running/invocation.ts'
import { writeFile, type Write } from '../output/write-file.ts'

interface ExportCommandOptions {
  readonly output?: string
}

/** Characters that are gathered before they are written. */
const CHUNK = 64 * 1024

const DETAILS = `\`looseleaf import --no-check\` restores the lines exactly. Without --no-check and
with kinds in the config, the import checks entities by their schemas and adds
defaults. An export is not a snapshot: each entity has the state of the moment
when it was read. An entity that moves to another shard during the export may be
printed twice; the later line is the later state. The lines are JSON with and without --json. The last line on
stderr says whether the export is complete; only then the exit code is 0.

With --output the lines first go to <file>.….part, which replaces the file when
it is complete. An export that fails or is stopped leaves the old file
unchanged. A killed process leaves its .part file: delete it when no export to
that file runs.

JSON, on stderr, or on stdout with --output: { "exported" }`

export const addExport: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'export',
    summary: 'Print every entity as a line of JSON',
    details: DETAILS,
    examples: [
      ['export > entities.jsonl', 'to a file'],
      [
        'init --shards sqlite:copy && looseleaf export | looseleaf import - --shards sqlite:copy',
        'to a new store',
      ],
    ],
  })
    .option('--output <file>', 'write to this file instead of stdout')
    .does(async (invocation, options: ExportCommandOptions) => {
      const { output } = invocation
      if (options.output === undefined) {
        const exported = await writeEntities(invocation, (text) => output.write(text))
        const line = output.json ? JSON.stringify({ exported }) : completeText(exported)
        invocation.console.stderr.write(`${line}\n`)
        return
      }
      // Opened before the file is created, because most errors occur here.
      await invocation.openStore()
      const file = resolve(invocation.console.cwd, options.output)
      const exported = await writeFile(file, (write) => writeEntities(invocation, write))
      output.result({ exported }, () => completeText(exported))
    })
}

function completeText(exported: number): string {
  return `Complete: ${counted(exported, 'entity', 'entities')} exported.`
}

async function writeEntities(invocation: Invocation, write: Write): Promise<number> {
  const { output, signal } = invocation
  const store = await invocation.openStore()
  const progress = output.progress({ label: 'exporting', unit: 'entities' })
  let exported = 0
  let text = ''
  try {
    for await (const entity of store.scan({ signal })) {
      text += `${entityLine(entity)}\n`
      exported++
      if (text.length < CHUNK) continue
      await write(text)
      text = ''
      progress.update(exported, undefined)
    }
    if (text !== '') await write(text)
    await output.flush()
  } catch (error) {
    const entities = counted(exported, 'entity was', 'entities were')
    throw new IncompleteOutput(`The export is not complete: ${entities} read before it ended.`, error)
  } finally {
    progress.stop()
  }
  return exported
}
