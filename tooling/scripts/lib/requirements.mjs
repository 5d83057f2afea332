import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { environment, node, root } from './project.mjs'
import { run } from './run.mjs'

/** Chromium without windows. It needs two thirds of the processor time for the same tests. */
const HEADLESS_SHELL = 'chromium-headless-shell'

/** Exits with a message if the running Node is too old for these scripts. */
export function requireNode() {
  if (Number(process.versions.node.split('.')[0]) >= 20) return
  console.error(`Node 20 or newer is required; this is ${process.version}. See https://nodejs.org.`)
  process.exit(1)
}

/** Ensures that the tests have a database server. Resolves with an exit code. */
export async function ensureMariadb() {
  if (environment.LOOSELEAF_TEST_MYSQL) return said('Using the servers of LOOSELEAF_TEST_MYSQL.')
  if (environment.LOOSELEAF_SKIP_MYSQL === '1') {
    return said('LOOSELEAF_SKIP_MYSQL=1: tests that need MariaDB or MySQL are SKIPPED.')
  }
  const found = findMariadb()
  if (found !== undefined) return said(found)
  // A named server must be used; the reason why it cannot run is already printed.
  if (environment.LOOSELEAF_MYSQLD) return 1
  if (canApt() && (await aptInstall('mariadb-server')) && findMariadb() !== undefined) return 0
  console.error(`
The tests need the program mariadbd (or mysqld); a running service is not needed. Install it:
  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y mariadb-server
  Fedora:          sudo dnf install -y mariadb-server
  macOS:           brew install mariadb
or name an installed program of MariaDB or MySQL:
  LOOSELEAF_MYSQLD=/path/to/mysqld npm test
or name running servers with a user who may create databases:
  LOOSELEAF_TEST_MYSQL=mysql://user:password@host:3306,mysql://user:password@host:3307 npm test
or skip these tests:
  LOOSELEAF_SKIP_MYSQL=1 npm test`)
  return 1
}

/** Ensures that the browser tests have a Chromium. Resolves with its path, or with undefined after printing instructions. */
export async function ensureChromium() {
  const named = environment.LOOSELEAF_CHROMIUM
  if (named) {
    if (existsSync(named)) return named
    console.error(`LOOSELEAF_CHROMIUM names ${named}, which does not exist.`)
    return undefined
  }
  const found = findChromium()
  if (found !== undefined) return found
  // Ubuntu's package of Chromium only fetches a snap, which does not run in a container.
  if (canApt() && !existsSync('/etc/lsb-release'))
    for (const name of [HEADLESS_SHELL, 'chromium']) if (await aptInstall(name)) return findChromium()
  console.error(`
The browser tests of apps/feed need Chromium or Chrome. Install one:
  Debian:  sudo apt-get update && sudo apt-get install -y ${HEADLESS_SHELL}
  Fedora:  sudo dnf install -y chromium
  macOS:   brew install --cask chromium
or name an installed one:
  LOOSELEAF_CHROMIUM=/path/to/chrome npm test`)
  return undefined
}

/**
 * Installs the programs that some tests start and that can be left out: memcached and HAProxy. Resolves with 0 in any case;
 * without a program its tests are listed as skipped.
 */
export async function ensureOptionalPrograms() {
  for (const [program, tests] of [
    ['memcached', 'the tests of @looseleaf/memcached'],
    ['haproxy', 'the test behind HAProxy'],
  ]) {
    const found = findProgram([program])
    if (found !== undefined) console.log(found)
    else if (!canApt() || !(await aptInstall(program))) {
      console.log(`${program} is not installed, so ${tests} are SKIPPED.
  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y ${program}
  Fedora:          sudo dnf install -y ${program}
  macOS:           brew install ${program}`)
    }
  }
  return 0
}

function findMariadb() {
  const { status, stdout } = spawnSync(node, ['tooling/mariadb/src/cli.ts', 'find'], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  return status === 0 ? stdout.trim().split('\n').at(-1) : undefined
}

function findChromium() {
  const apps = [
    '/Applications/Chromium.app/Contents/MacOS/Chromium',
    '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  ]
  return (
    findProgram([
      HEADLESS_SHELL,
      'chromium',
      'chromium-browser',
      'google-chrome',
      'google-chrome-stable',
      'chrome',
    ]) ?? apps.find(isExecutable)
  )
}

/** Path of the first of these programs that is installed. Debian has servers in /usr/sbin, which a user's PATH may lack. */
function findProgram(names) {
  const folders = [
    ...(environment.PATH ?? '').split(delimiter),
    '/usr/bin',
    '/usr/sbin',
    '/usr/local/bin',
    '/snap/bin',
  ]
  return names
    .flatMap((name) => folders.filter(Boolean).map((folder) => join(folder, name)))
    .find(isExecutable)
}

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function canApt() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && isExecutable('/usr/bin/apt-get')
}

async function aptInstall(name) {
  console.log(
    `${name} is not installed. It is installed now, because this is Debian and you are root: apt-get install ${name}`,
  )
  const env = { DEBIAN_FRONTEND: 'noninteractive' }
  const update = await run(['apt-get', 'update', '-qq'], { env })
  return update === 0 && (await run(['apt-get', 'install', '-y', '-qq', name], { env })) === 0
}

function said(words) {
  console.log(words)
  return 0
}
