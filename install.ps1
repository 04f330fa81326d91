# Installs agent-daemon for Windows from a signed release, or from a checkout with -FromSource.
# Everything is inside a function that the last line calls: a download that was cut off runs nothing.
# It needs no administrator, changes no profile and never takes a token.
param(
  [string]$BaseUrl,
  [string]$Version,
  [string]$Dir,
  [string]$CoreUrl,
  [switch]$FromSource,
  [switch]$Uninstall
)

Set-StrictMode -Version 2
$ErrorActionPreference = 'Stop'

# The release process fills these two in. A copy without a key installs from source only.
$ReleaseBaseUrl = ''
$ReleasePublicKey = ''

$Program = 'agent-daemon'
$DenoVersion = '2.9.6'
# What the program may do; the compiled releases are built with the same.
$Permissions = '--allow-all'

# One line, then the end.
function Stop-Installation([string]$Place, [string]$Rule, [string]$Fix) {
  [Console]::Error.WriteLine("${Program}: ${Place}: ${Rule}; ${Fix}")
  exit 1
}

function Get-ReleaseFile([string]$Path, [string]$File) {
  $address = [Uri]"$BaseUrl/$Path"
  if ($address.Scheme -ne 'https' -and -not $address.IsLoopback) {
    Stop-Installation '-BaseUrl' 'must be https' 'name a host that serves https'
  }
  try {
    [Net.ServicePointManager]::SecurityProtocol = [Net.SecurityProtocolType]::Tls12
    Invoke-WebRequest -Uri $address -OutFile $File -UseBasicParsing -TimeoutSec 600
  } catch {
    Stop-Installation $Path 'could not be downloaded' 'check the network and -BaseUrl'
  }
}

# The r and s of a signature as 64 bytes; the file holds them as two DER integers.
function ConvertFrom-DerSignature([byte[]]$Der) {
  if ($Der.Length -lt 8 -or $Der[0] -ne 0x30) { return $null }
  $at = 2
  $result = New-Object byte[] 64
  foreach ($half in 0, 32) {
    if ($Der[$at] -ne 0x02) { return $null }
    $length = [int]$Der[$at + 1]
    $start = $at + 2
    while ($length -gt 32 -and $Der[$start] -eq 0) { $start++; $length-- }
    if ($length -gt 32) { return $null }
    [Array]::Copy($Der, $start, $result, $half + 32 - $length, $length)
    $at = $start + $length
  }
  return ,$result
}

function Test-Signature([string]$File, [string]$SignatureFile) {
  # The last 64 bytes of a P-256 public key are its point.
  $base64 = ($ReleasePublicKey -split "`n" | Where-Object { $_ -notmatch '-----' }) -join ''
  $key = [Convert]::FromBase64String($base64.Trim())
  $point = $key[($key.Length - 64)..($key.Length - 1)]
  $parameters = New-Object Security.Cryptography.ECParameters
  $parameters.Curve = [Security.Cryptography.ECCurve]::CreateFromFriendlyName('nistP256')
  $q = New-Object Security.Cryptography.ECPoint
  $q.X = [byte[]]$point[0..31]
  $q.Y = [byte[]]$point[32..63]
  $parameters.Q = $q
  $ecdsa = [Security.Cryptography.ECDsa]::Create($parameters)
  $signature = ConvertFrom-DerSignature ([IO.File]::ReadAllBytes($SignatureFile))
  if ($null -eq $signature) { return $false }
  $content = [IO.File]::ReadAllBytes($File)
  return $ecdsa.VerifyData($content, $signature, [Security.Cryptography.HashAlgorithmName]::SHA256)
}

function Install-Release([string]$Target) {
  if ($ReleasePublicKey -eq '') {
    Stop-Installation 'install.ps1' 'holds no release key' 'take it from a release, or use -FromSource in a checkout'
  }
  if ($BaseUrl -eq '') { Stop-Installation '-BaseUrl' 'is missing' 'name the host of the releases' }
  if ($env:PROCESSOR_ARCHITECTURE -ne 'AMD64') {
    Stop-Installation 'platform' 'has no release' 'use -FromSource in a checkout'
  }
  $work = Join-Path ([IO.Path]::GetTempPath()) "$Program-$([Guid]::NewGuid())"
  New-Item -ItemType Directory -Path $work | Out-Null
  try {
    if ($Version -eq '') {
      Get-ReleaseFile 'latest' "$work\latest"
      $Version = (Get-Content "$work\latest" -TotalCount 1).Trim()
    }
    if ($Version -notmatch '^[A-Za-z0-9][A-Za-z0-9.+-]*$') {
      Stop-Installation '-Version' 'must be a release such as 1.2.3' 'leave it out for the newest'
    }
    $archive = "$Program-$Version-x86_64-pc-windows-msvc.tar.gz"
    Get-ReleaseFile "$Version/SHA256SUMS" "$work\SHA256SUMS"
    Get-ReleaseFile "$Version/SHA256SUMS.sig" "$work\SHA256SUMS.sig"
    if (-not (Test-Signature "$work\SHA256SUMS" "$work\SHA256SUMS.sig")) {
      Stop-Installation 'SHA256SUMS' 'has a wrong signature' 'do not install this release; tell its publisher'
    }
    $line = Get-Content "$work\SHA256SUMS" | Where-Object { ($_ -split '\s+\*?')[1] -eq $archive }
    if (-not $line) { Stop-Installation $archive 'is not in this release' 'choose another -Version' }
    Get-ReleaseFile "$Version/$archive" "$work\archive.tar.gz"
    $digest = (Get-FileHash "$work\archive.tar.gz" -Algorithm SHA256).Hash.ToLowerInvariant()
    if ($digest -ne ($line -split '\s+')[0]) {
      Stop-Installation $archive 'has a wrong digest' 'download it again'
    }
    tar.exe -xzf "$work\archive.tar.gz" -C $work "$Program.exe"
    if ($LASTEXITCODE -ne 0) { Stop-Installation $archive 'does not hold the program' 'tell its publisher' }
    $said = & "$work\$Program.exe" version
    if (-not "$said".StartsWith("$Program $Version ")) {
      Stop-Installation $archive 'does not run here or is another version' 'tell its publisher'
    }
    if (Test-Path $Target) {
      # A running program can be renamed, but not replaced.
      $old = "$Target.old"
      if (Test-Path $old) { Remove-Item $old -Force -ErrorAction SilentlyContinue }
      Move-Item $Target $old -Force
    }
    Move-Item "$work\$Program.exe" $Target
  } finally {
    Remove-Item $work -Recurse -Force -ErrorAction SilentlyContinue
  }
}

function Install-Source([string]$Target) {
  $checkout = $PSScriptRoot
  if (-not $checkout -or -not (Test-Path "$checkout\main.ts")) {
    Stop-Installation '-FromSource' 'needs a checkout' 'run install.ps1 in the folder that holds main.ts'
  }
  $deno = Get-Command deno -ErrorAction SilentlyContinue
  if (-not $deno -or -not ((& deno --version | Select-Object -First 1) -match "^deno $([Regex]::Escape($DenoVersion))\b")) {
    Stop-Installation 'deno' "$DenoVersion is missing" "run: npm install --global deno@$DenoVersion"
  }
  $words = "run --quiet --no-prompt --config `"$checkout\deno.json`" $Permissions `"$checkout\main.ts`" %*"
  Set-Content -Path $Target -Encoding Ascii -Value "@`"$($deno.Source)`" $words"
}

# Whether what is there was put there by this script; what is not is neither run, replaced nor removed.
function Test-Ours([string]$Path) {
  return Test-Path -LiteralPath (Join-Path (Split-Path $Path) ".$(Split-Path $Path -Leaf).installed")
}

function Invoke-Installation {
  if ($BaseUrl -eq '') { $script:BaseUrl = $ReleaseBaseUrl }
  $script:BaseUrl = $script:BaseUrl.TrimEnd('/')
  if ($Dir -eq '') { $script:Dir = Join-Path $env:LOCALAPPDATA "Programs\$Program" }
  $name = if ($FromSource) { "$Program.cmd" } else { "$Program.exe" }
  $target = Join-Path $Dir $name
  if ($Uninstall) {
    foreach ($each in "$Program.exe", "$Program.cmd") {
      $path = Join-Path $Dir $each
      if (Test-Path -LiteralPath $path) {
        if (-not (Test-Ours $path)) {
          Stop-Installation $path 'is not from this script' 'remove it yourself if you want to'
        }
        & $path service uninstall
        Remove-Item -LiteralPath $path -Force
        Remove-Item -LiteralPath (Join-Path $Dir ".$each.installed") -Force
        Write-Output "Removed $path. Configuration, state and workspace are kept."
      }
    }
    return
  }
  if ($CoreUrl -ne '' -and $CoreUrl -notmatch '^https://[A-Za-z0-9._:/\[\]-]+$') {
    Stop-Installation '-CoreUrl' 'must be https' 'write https://core.example'
  }
  if ((Test-Path -LiteralPath $target) -and -not (Test-Ours $target)) {
    Stop-Installation $target 'is there and not from this script' 'move it away, or choose another -Dir'
  }
  New-Item -ItemType Directory -Force -Path $Dir | Out-Null
  if ($FromSource) { Install-Source $target } else { Install-Release $target }
  Set-Content -LiteralPath (Join-Path $Dir ".$name.installed") -Encoding Ascii -Value "install.ps1 put $name into this directory."
  Write-Output "Installed $target."
  $configuration = Join-Path $env:APPDATA $Program
  if ($CoreUrl -ne '' -and -not (Test-Path "$configuration\config.json")) {
    New-Item -ItemType Directory -Force -Path $configuration | Out-Null
    Set-Content -Path "$configuration\config.json" -Encoding Ascii -Value "{ `"core_url`": `"$CoreUrl`" }"
  }
  Write-Output 'Next, with the device id and the token file that Core gave you:'
  Write-Output "  & '$target' --device-id UUID --token-file FILE --core-url https://core.example"
}

Invoke-Installation
