const OPTIONS = {
  port: ['--port <number>', 'the port of the site; default: the first free one from 3000'],
  data: ['--data <folder>', 'the folder of the SQLite shards; default: .data/feed'],
  origin: ['--origin <address>', 'the public address behind a proxy, such as https://feed.example.org'],
  as: ['--as <name>', 'the person who follows the imported feeds'],
} as const

/** Returns the usage of a program with these options. `command` starts it. */
export function usageOf(command: string, options: readonly (keyof typeof OPTIONS)[], operands = ''): string {
  const rows = [...options.map((name) => OPTIONS[name]), ['-h, --help', 'print this text']]
  const width = Math.max(...rows.map(([option]) => option!.length))
  return [
    `Usage: ${command} [options]${operands}`,
    ...rows.map(([option, meaning]) => `  ${option!.padEnd(width)}  ${meaning}`),
    'The environment variables are in apps/feed/README.md.',
  ].join('\n')
}
