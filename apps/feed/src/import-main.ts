import { runImport } from './import-command.ts'

process.exitCode = await runImport(process.argv.slice(2), process.env, {
  print: (line) => console.log(line),
  printError: (line) => console.error(line),
})
