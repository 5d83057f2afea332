import { readFile, stat } from 'node:fs/promises'
import { describeImport, importFile, type ImportResult } from './domain/imports/import-file.ts'
import { MAX_FILE_BYTES } from './feeds/parse/limits.ts'
import { personByName } from './domain/accounts/people.ts'
import { openSite, type Site } from './domain/site/site.ts'
import { asksForHelp, BadSetting, readSettings } from './settings.ts'
import { describeStartError } from './start-error.ts'
import { usageOf } from './usage.ts'

const USAGE = usageOf('pnpm --filter feed run import', ['as', 'data'], ' file …')

export interface Output {
  print(line: string): void
  printError(line: string): void
}

/** Runs the import command. Returns the exit status: 0, 2 if a file was refused, or 1 if the import failed. */
export async function runImport(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  output: Output,
): Promise<number> {
  if (asksForHelp(args)) {
    output.print(USAGE)
    return 0
  }
  try {
    const settings = readSettings(args, env)
    if (settings.files.length === 0) throw new BadSetting('No files were named. See --help.')
    const site = await openSite({ shards: settings.shards, cleaner: false })
    try {
      const personId = settings.as === undefined ? undefined : await personIdOf(site, settings.as)
      let refused = 0
      for (const path of settings.files) {
        const result = await importPath(site, path, personId)
        if (result.type === 'refused') refused++
        output.print(describeImport(result))
      }
      return refused > 0 ? 2 : 0
    } finally {
      await site.close()
    }
  } catch (error) {
    output.printError(`The import failed: ${describeStartError(error)}`)
    return 1
  }
}

async function personIdOf(site: Site, name: string): Promise<string> {
  const person = await personByName(site.data, name)
  if (person === undefined) throw new BadSetting(`There is no person named “${name.slice(0, 40)}”.`)
  return person.id
}

async function importPath(site: Site, path: string, personId: string | undefined): Promise<ImportResult> {
  const refused = (reason: string): ImportResult => ({ type: 'refused', name: path, reason })
  let bytes: Buffer
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) return refused(`The file is larger than ${MAX_FILE_BYTES / 1024 / 1024} MB.`)
    bytes = await readFile(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    return refused(code === 'ENOENT' ? 'There is no such file.' : `The file cannot be read (${code}).`)
  }
  return importFile(site, { name: path, bytes }, { personId, follow: true })
}
