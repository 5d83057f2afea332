import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { glob, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { aptSettings, debianMirror, TARGET_FORMAT } from './debian-mirror.ts'

const run = promisify(execFile)

const PACKAGE = 'mysql-server-core'
const SUITE = 'unstable'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'

/** The server does not need Perl, which only its scripts use. */
const isNeeded = (file: string): boolean => file.endsWith('.deb') && !/^(lib)?perl/.test(file)

/**
 * Fetches MySQL's server and libraries from Debian unstable into a new folder, with a program `mysqld` that
 * starts the server by its own loader. Changes nothing else on the machine and needs no root. Returns the
 * program's path.
 */
export async function fetchMysql(folder: string, say: (line: string) => void): Promise<string> {
  const release = await debianRelease()
  const there = await readdir(folder).catch(() => [])
  if (there.length > 0) throw new Error(`${folder} is not empty. Name a folder that does not exist.`)
  const work = `${folder}.part`
  const apt = join(work, 'apt')
  const root = join(work, 'root')
  await rm(work, { recursive: true, force: true })
  try {
    const archives = await prepareApt(apt, await mirrorOf(release))
    say(`Reading the packages of Debian ${SUITE} …`)
    await aptGet(apt, ['update', '--error-on=any'])
    say(`Fetching ${PACKAGE} with its libraries …`)
    await aptGet(apt, ['install', '--yes', '--no-install-recommends', '--download-only', PACKAGE])
    await mkdir(root)
    for (const file of (await readdir(archives)).filter(isNeeded)) {
      await run('dpkg', ['-x', join(archives, file), root])
    }
    await writeFile(join(work, 'mysqld'), await startScript(root), { mode: 0o755 })
    await rm(apt, { recursive: true })
    await rename(work, folder)
  } finally {
    await rm(work, { recursive: true, force: true })
  }
  const program = join(folder, 'mysqld')
  say(versionOf(program))
  return program
}

/** Returns the version line of a program. Throws if it cannot run. */
function versionOf(program: string): string {
  const { status, stdout, stderr, error } = spawnSync(program, ['--no-defaults', '--version'], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${program} does not start here: ${error?.message ?? stderr.trim()}`)
  return stdout.trim()
}

async function debianRelease(): Promise<string> {
  const text = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const valueOf = (name: string): string | undefined =>
    new RegExp(`^${name}="?([^"\n]*)"?$`, 'm').exec(text)?.[1]
  const release = valueOf('VERSION_CODENAME')
  if (valueOf('ID') !== 'debian' || release === undefined) {
    throw new Error(
      'MySQL can be fetched only on Debian, from its own packages. On other systems install a MySQL server and set LOOSELEAF_MYSQLD=/path/to/mysqld.',
    )
  }
  if (!existsSync(KEYRING))
    throw new Error(`${KEYRING} is missing. Run: apt-get install debian-archive-keyring`)
  return release
}

async function mirrorOf(release: string): Promise<string> {
  const { stdout } = await run('apt-get', ['indextargets', '--format', TARGET_FORMAT, 'Created-By: Packages'])
  const mirror = debianMirror(stdout, release)
  if (mirror === undefined) {
    throw new Error(
      `apt has no source for ${release} main on this machine, so there is no mirror to fetch from.`,
    )
  }
  return mirror
}

/** Prepares folders and settings for apt-get; returns the folder of the packages. */
async function prepareApt(folder: string, mirror: string): Promise<string> {
  const archives = join(folder, 'cache', 'archives')
  for (const needed of [join(archives, 'partial'), join(folder, 'state', 'lists', 'partial')]) {
    await mkdir(needed, { recursive: true })
  }
  const { stdout: system } = await run('apt-config', ['dump', 'Acquire'])
  await writeFile(join(folder, 'apt.conf'), aptSettings(folder, system), { mode: 0o600 })
  await writeFile(join(folder, 'sources.list'), `deb [signed-by=${KEYRING}] ${mirror} ${SUITE} main\n`)
  await writeFile(join(folder, 'status'), '')
  return archives
}

async function aptGet(folder: string, args: readonly string[]): Promise<void> {
  const env = { ...process.env, APT_CONFIG: join(folder, 'apt.conf'), LC_ALL: 'C' }
  try {
    await run('apt-get', args, { env, maxBuffer: 64 * 1024 * 1024 })
  } catch (cause) {
    const said = String((cause as { stderr?: unknown }).stderr).trim()
    throw new Error(`MySQL cannot be fetched: apt-get ${args[0]} failed.\n${said}`, { cause })
  }
}

/**
 * Writes a start script. A program of a newer system needs that system's loader and C library. Its own file
 * arguments come last, because the first argument may have to stay first; without them it would use files of
 * another installed server.
 */
async function startScript(root: string): Promise<string> {
  const one = async (pattern: string): Promise<string> => {
    for await (const found of glob(pattern, { cwd: root })) return `$here/root/${found}`
    throw new Error(`The packages of Debian ${SUITE} have no ${pattern}.`)
  }
  const libraries = dirname(await one('usr/lib/*/libc.so.6'))
  return [
    '#!/bin/sh',
    'here=$(dirname "$(readlink -f "$0")")',
    `exec "${await one('usr/lib/*/ld-linux*.so.*')}" --inhibit-cache --library-path "${libraries}" \\`,
    `  "${await one('usr/sbin/mysqld')}" "$@" --basedir="$here/root/usr"`,
    '',
  ].join('\n')
}
