import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { afterAll, expect, test } from 'vitest'
import { root } from './example-files.ts'

/** The last step needs the reader's own server. */
const LAST_STEP = '\n## 7.'
const [BIN, LOOSELEAF] = await Promise.all(
  ['bin.ts', 'index.ts'].map((name) => bundleOf(pathToFileURL(join(root, 'packages/looseleaf/src', name)))),
)
const env = { ...process.env, LOOSELEAF_SHARDS: undefined }

const folder = mkdtempSync(join(tmpdir(), 'looseleaf-tutorial-'))
let background: ChildProcess | undefined

afterAll(() => {
  background?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

test('the steps of the tutorial give the output that it shows', async () => {
  install('zod', join(root, 'packages/kinds/node_modules/zod'))
  installLooseleaf()
  const [text = ''] = readFileSync(join(root, 'docs/tutorial.md'), 'utf8').split(LAST_STEP)
  let commands = 0
  for (const { language, body, shown } of stepsOf(text)) {
    const [, name] = /^\/\/ (\S+\.ts)\n/.exec(body) ?? []
    if (language === 'ts' && name !== undefined) writeFileSync(join(folder, name), body)
    if (language !== 'sh') continue
    let output = ''
    for (const command of body.split('\n').filter((line) => line !== '' && !isInstall(line))) {
      output += await run(command)
      commands++
    }
    for (const line of shown) expect(output).toContain(line)
  }
  expect(commands).toBe(8)
  background?.kill('SIGINT')
  const [code] = background === undefined ? [undefined] : ((await once(background, 'exit')) as unknown[])
  expect(code).toBe(0)
}, 110_000)

interface Step {
  readonly language: string
  readonly body: string
  /** Lines of the indented block behind it. */
  readonly shown: readonly string[]
}

function stepsOf(text: string): Step[] {
  return [...text.matchAll(/^```(\w+).*\n([\s\S]*?)\n```\n((?:\n {4}.*)*)/gm)].map(
    ([, language = '', body = '', shown = '']) => ({
      language,
      body,
      shown: shown.split('\n').flatMap((line) => line.trim() || []),
    }),
  )
}

const isInstall = (command: string): boolean => /^(mkdir|npm) /.test(command)

function install(name: string, target: string): void {
  mkdirSync(join(folder, 'node_modules'), { recursive: true })
  symlinkSync(target, join(folder, 'node_modules', name))
}

/** Installs the package as a bundle, because each process of the tutorial would load hundreds of files. */
function installLooseleaf(): void {
  const target = join(folder, 'node_modules/looseleaf')
  mkdirSync(target)
  writeFileSync(join(target, 'package.json'), '{"type":"module","exports":"./index.js"}')
  writeFileSync(join(target, 'index.js'), `export * from '${pathToFileURL(LOOSELEAF as string).href}'\n`)
}

/** Runs a command to its end and returns its output. A program without an end runs in the background. */
async function run(command: string): Promise<string> {
  if (command === 'node traffic.ts') return startTraffic()
  const line = command.replace(/^npx looseleaf/, `node ${BIN}`)
  const { status, stdout, stderr } = spawnSync('bash', ['-c', line], { cwd: folder, env, encoding: 'utf8' })
  expect(status, `${command}\n${stderr}`).toBe(0)
  return stdout
}

/** Starts the program and returns its first two lines. */
async function startTraffic(): Promise<string> {
  background = spawn(process.execPath, ['traffic.ts'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const lines = new Promise<void>((resolve) => {
    background?.stdout?.on('data', (part) => {
      output += String(part)
      if (output.split('\n').length > 2) resolve()
    })
  })
  await Promise.race([lines, once(background, 'exit')])
  return output
}
