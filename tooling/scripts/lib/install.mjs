import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { node, pnpmCommand, root } from './project.mjs'
import { run } from './run.mjs'

const stampPath = join(root, 'node_modules', '.looseleaf-install')

/** Installs the dependencies unless they already match the lockfile. Resolves with an exit code. */
export async function install() {
  const wanted = fingerprint()
  if (existsSync(stampPath) && existsSync(node) && readFileSync(stampPath, 'utf8') === wanted) return 0
  console.log('Installing the dependencies …')
  // The last setting replaces an incompatible node_modules without asking, because no user may be there to answer.
  const command = pnpmCommand('install', '--frozen-lockfile', '--config.confirm-modules-purge=false')
  const code = await run(command)
  if (code !== 0) return code
  if (!existsSync(node)) {
    console.error(
      'The dependencies are installed, but the Node that the project pins (the npm package `node`) is missing.',
    )
    return 1
  }
  writeFileSync(stampPath, wanted)
  return 0
}

/** Every change of a dependency changes the lockfile. */
function fingerprint() {
  const hash = createHash('sha256')
  for (const file of ['pnpm-lock.yaml', 'pnpm-workspace.yaml']) hash.update(readFileSync(join(root, file)))
  return `${hash.digest('hex')} ${process.platform} ${process.arch}\n`
}
