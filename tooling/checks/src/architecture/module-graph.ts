import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { importsOf, packageOf } from './imports-of.ts'
import { isThere, root, workspacePackages } from './repository.ts'

/** Built entry points of our packages by specifier, such as `@looseleaf/core`. */
const entries = new Map(
  workspacePackages('packages').flatMap(({ folder, manifest }) =>
    Object.entries(manifest.exports ?? {}).map(
      ([entry, { default: file = '' }]) => [manifest.name + entry.slice(1), join(folder, file)] as const,
    ),
  ),
)

/**
 * Returns the external packages that a built module loads, each with one import path. Modules of Node are
 * left out.
 */
export async function reachedFrom(entry: string): Promise<Map<string, string>> {
  const reached = new Map<string, string>()
  const seen = new Set<string>()
  await visit(join(root, entry), [entry])
  return reached

  async function visit(file: string, way: readonly string[]): Promise<void> {
    if (seen.has(file)) return
    seen.add(file)
    for (const { specifier } of importsOf(await readFile(file, 'utf8'))) {
      if (isBuiltin(specifier)) continue
      if (specifier.startsWith('.')) {
        const next = join(dirname(file), specifier)
        if (!existsSync(next)) throw new Error(`${file} imports ${specifier}, which is not there.`)
        await visit(next, way)
        continue
      }
      if (entries.has(specifier)) await visit(join(root, entryOf(specifier)), [...way, specifier])
      else reached.set(packageOf(specifier), [...way, specifier].join(' → '))
    }
  }
}

/**
 * Returns a built entry point. Throws if the package is not built: skipping its test would hide a violation.
 */
export function entryOf(specifier: string): string {
  const entry = entries.get(specifier)
  if (entry === undefined) throw new Error(`${specifier} is no entry of a package here.`)
  if (!isThere(entry)) throw new Error(`${entry} is not there. Build first: pnpm build`)
  return entry
}
