import type { LooseleafError } from '@looseleaf/core'
import { badOption, counted, isVersion } from '@looseleaf/core/internal'
import type { DamagedEntity, DataStore } from '@looseleaf/store'
import { repairVersion } from '@looseleaf/store/internal'
import { resolve } from 'node:path'
import { defineCommand, type AddCommand } from '../running/define-command.ts'
import { exitCodes, type ExitCode } from '../running/exit-codes.ts'
import { exportBody } from '../output/export-body.ts'
import type { Invocation } from '../running/invocation.ts'
import { printable } from '../output/text.ts'

interface DamagedCommandOptions {
  readonly export?: string
  readonly repair?: boolean
  readonly delete?: boolean
  readonly yes?: boolean
}

/** Results of the options for one entity; undefined without the option. */
interface Outcome {
  /** File of the body. */
  readonly file: string | undefined
  readonly repaired: boolean | undefined
  readonly deleted: boolean | undefined
}

const DETAILS = `Reads every entity of the store, with the codec of the config.

  BODY_DAMAGED     the bytes differ from the written ones, or the row has an
                   invalid version
  BODY_UNKNOWN     intact, in a format that this codec does not read
  BODY_TOO_LARGE   intact, beyond the size limit of this codec
The right config reads the last two.

With --export, the body and the row of each are written to two files in the
folder, which only the user can read.

--repair gives a row with an invalid version, such as that of a clock past the
year 2255, a new version. The body stays unchanged.

--delete needs --export and --yes. It deletes entities that are BODY_DAMAGED and
have not changed since their export. It keeps entities that another codec may
read, and rows with an invalid version. It deletes nothing when more entities
are damaged than can be read, because then the codec is probably wrong.

Run \`looseleaf clean\` after --repair or --delete. The exit code is 1 when an
entity was neither repaired nor deleted.

JSON, one line per entity:
  { "id", "version", "updated", "shard", "code", "message", "bodyBytes",
    "file" with --export, "repaired" with --repair, "deleted" with --delete }`

export const addDamaged: AddCommand = (program) => {
  defineCommand(program, {
    usage: 'damaged',
    summary: 'List, export, repair or delete entities that cannot be read',
    details: DETAILS,
    examples: [
      ['damaged', 'list them'],
      ['damaged --export damaged-bodies', 'keep their bytes'],
      ['damaged --repair', 'replace invalid versions'],
      ['damaged --export damaged-bodies --delete --yes', 'keep their bytes, and delete them'],
    ],
  })
    .option('--export <folder>', 'write the stored bytes of each to a file there')
    .option('--repair', 'give a new version to rows with an invalid one')
    .option('--delete', 'delete entities with damaged bytes')
    .option('--yes', 'confirm --delete')
    .does(listDamaged)
}

async function listDamaged(invocation: Invocation, options: DamagedCommandOptions): Promise<ExitCode> {
  const { output, signal } = invocation
  if (options.delete === true && (options.yes !== true || options.export === undefined)) {
    throw badOption(
      '--delete cannot be undone: it needs --yes, and --export <folder>, where the bytes are kept.',
    )
  }
  const store = await invocation.openStore()
  const folder = options.export === undefined ? undefined : resolve(invocation.console.cwd, options.export)
  if (options.delete === true) await requireCodec(store, signal)
  let found = 0
  let repairs = 0
  let remaining = 0
  for await (const entity of store.scanDamaged({ signal })) {
    found++
    const file = folder && (await exportBody(folder, entity))
    const repaired = options.repair === true ? await repair(store, entity, signal) : undefined
    if (repaired === true) repairs++
    const deleted = options.delete === true ? await store.deleteDamaged(entity, { signal }) : undefined
    if (deleted !== true && repaired !== true) remaining++
    const line = lineOf(entity, { file, repaired, deleted })
    await output.write(`${output.json ? JSON.stringify(line) : textOf(line)}\n`)
  }
  const count = `${counted(found, 'entity', 'entities')} cannot be read`
  if (found === 0) output.note('Every entity can be read.')
  else if (remaining === found) output.note(`${count}.`)
  else {
    const deletes = found - remaining - repairs
    const done = [
      ...(repairs > 0 ? [`${repairs} of them repaired`] : []),
      ...(deletes > 0 ? [`${deletes} of them deleted`] : []),
    ]
    output.note(`${count}, ${done.join(', ')}. Now run: looseleaf clean`)
  }
  return remaining === 0 ? exitCodes.ok : exitCodes.found
}

async function repair(
  store: DataStore,
  { id, version }: DamagedEntity,
  signal: AbortSignal,
): Promise<boolean> {
  return !isVersion(version) && repairVersion(store.context, id, { signal })
}

/** Throws `BAD_OPTION` if more entities are damaged than readable: then another codec has probably written the store. */
async function requireCodec(store: DataStore, signal: AbortSignal): Promise<void> {
  let readable = 0
  let damaged = 0
  const onDamaged = ({ code }: LooseleafError): void => void (code === 'BODY_DAMAGED' && damaged++)
  for await (const _ of store.scan({ signal, onDamaged })) readable++
  if (damaged <= readable) return
  throw badOption(
    `Nothing was deleted: ${damaged} entities are damaged and ${readable} can be read, so another codec than ${store.context.codec.name} has probably written the store. Give the config that has it.`,
  )
}

function lineOf({ id, version, updated, shard, error, body }: DamagedEntity, outcome: Outcome) {
  const { code, message } = error
  const bodyBytes = body?.length ?? null
  return { id, version, updated: updated.toISOString(), shard, code, message, bodyBytes, ...outcome }
}

type DamagedLine = ReturnType<typeof lineOf>

function textOf(line: DamagedLine): string {
  const { code, version, message, bodyBytes, file } = line
  const bytes = bodyBytes === null ? 'a tombstone' : `${bodyBytes} bytes`
  return printable(
    `${code} ${message} (version ${version}, ${bytes}${file ? `, ${file}` : ''})${stateOf(line)}`,
  )
}

function stateOf({ code, version, repaired, deleted }: DamagedLine): string {
  if (repaired === true) return ' Repaired.'
  if (deleted === undefined) return ''
  if (deleted) return ' Deleted.'
  return code === 'BODY_DAMAGED' && isVersion(version) ? ' Kept: it has changed since its export.' : ' Kept.'
}
