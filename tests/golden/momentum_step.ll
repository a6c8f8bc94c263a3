; two arguments are written by one kernel

; == mul_add_mul_sub
; loop [p0] kept 1 vector 0
;   buffer b0 f32 written
;   buffer b1 f32 written
;   buffer b2 f32
;   access a0 b0 + 0 [1]
;   access a1 b1 + 0 [1]
;   access a2 b2 + 0 [1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = const 0.899999976 #3fecccccc0000000
;   %3 f32 = op Mul %1 %2
;   %4 f32 = load a2
;   %5 f32 = op Add %3 %4
;   %6 f32 = const 0.00999999978 #3f847ae140000000
;   %7 f32 = op Mul %5 %6
;   %8 f32 = op Sub %0 %7
;   %9 f32 = store a0 %8
;   %10 f32 = store a1 %5
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr ptr, ptr %0, i64 0
  %8 = load ptr, ptr %7, align 8
  %9 = getelementptr ptr, ptr %0, i64 1
  %10 = load ptr, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 2
  %12 = load ptr, ptr %11, align 8
  %13 = add i64 %6, 4095
  %14 = lshr i64 %13, 12
  br label %task.head

done:                                             ; preds = %task.end, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %108, %tail.end ]
  %15 = phi i64 [ %2, %work ], [ %107, %tail.end ]
  %16 = icmp slt i64 %task1, %3
  br i1 %16, label %task, label %task.end

task:                                             ; preds = %task.head
  %17 = mul i64 %15, 4096
  %18 = add i64 %17, 4096
  %19 = call i64 @llvm.smin.i64(i64 %18, i64 %6)
  %20 = sub i64 %19, %17
  %21 = and i64 %20, -32
  %22 = add i64 %17, %21
  %23 = icmp slt i64 %17, %22
  br i1 %23, label %vector, label %vector.end

vector:                                           ; preds = %vector, %task
  %vector2 = phi i64 [ %17, %task ], [ %87, %vector ]
  %24 = getelementptr float, ptr %8, i64 %vector2
  %25 = load <8 x float>, ptr %24, align 4
  %26 = getelementptr float, ptr %8, i64 %vector2
  %27 = getelementptr float, ptr %26, i64 8
  %28 = load <8 x float>, ptr %27, align 4
  %29 = getelementptr float, ptr %8, i64 %vector2
  %30 = getelementptr float, ptr %29, i64 16
  %31 = load <8 x float>, ptr %30, align 4
  %32 = getelementptr float, ptr %8, i64 %vector2
  %33 = getelementptr float, ptr %32, i64 24
  %34 = load <8 x float>, ptr %33, align 4
  %35 = getelementptr float, ptr %10, i64 %vector2
  %36 = load <8 x float>, ptr %35, align 4
  %37 = getelementptr float, ptr %10, i64 %vector2
  %38 = getelementptr float, ptr %37, i64 8
  %39 = load <8 x float>, ptr %38, align 4
  %40 = getelementptr float, ptr %10, i64 %vector2
  %41 = getelementptr float, ptr %40, i64 16
  %42 = load <8 x float>, ptr %41, align 4
  %43 = getelementptr float, ptr %10, i64 %vector2
  %44 = getelementptr float, ptr %43, i64 24
  %45 = load <8 x float>, ptr %44, align 4
  %46 = fmul <8 x float> %36, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %47 = fmul <8 x float> %39, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %48 = fmul <8 x float> %42, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %49 = fmul <8 x float> %45, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %50 = getelementptr float, ptr %12, i64 %vector2
  %51 = load <8 x float>, ptr %50, align 4
  %52 = getelementptr float, ptr %12, i64 %vector2
  %53 = getelementptr float, ptr %52, i64 8
  %54 = load <8 x float>, ptr %53, align 4
  %55 = getelementptr float, ptr %12, i64 %vector2
  %56 = getelementptr float, ptr %55, i64 16
  %57 = load <8 x float>, ptr %56, align 4
  %58 = getelementptr float, ptr %12, i64 %vector2
  %59 = getelementptr float, ptr %58, i64 24
  %60 = load <8 x float>, ptr %59, align 4
  %61 = fadd <8 x float> %46, %51
  %62 = fadd <8 x float> %47, %54
  %63 = fadd <8 x float> %48, %57
  %64 = fadd <8 x float> %49, %60
  %65 = fmul <8 x float> %61, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %66 = fmul <8 x float> %62, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %67 = fmul <8 x float> %63, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %68 = fmul <8 x float> %64, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %69 = fsub <8 x float> %25, %65
  %70 = fsub <8 x float> %28, %66
  %71 = fsub <8 x float> %31, %67
  %72 = fsub <8 x float> %34, %68
  %73 = getelementptr float, ptr %8, i64 %vector2
  store <8 x float> %69, ptr %73, align 4
  %74 = getelementptr float, ptr %8, i64 %vector2
  %75 = getelementptr float, ptr %74, i64 8
  store <8 x float> %70, ptr %75, align 4
  %76 = getelementptr float, ptr %8, i64 %vector2
  %77 = getelementptr float, ptr %76, i64 16
  store <8 x float> %71, ptr %77, align 4
  %78 = getelementptr float, ptr %8, i64 %vector2
  %79 = getelementptr float, ptr %78, i64 24
  store <8 x float> %72, ptr %79, align 4
  %80 = getelementptr float, ptr %10, i64 %vector2
  store <8 x float> %61, ptr %80, align 4
  %81 = getelementptr float, ptr %10, i64 %vector2
  %82 = getelementptr float, ptr %81, i64 8
  store <8 x float> %62, ptr %82, align 4
  %83 = getelementptr float, ptr %10, i64 %vector2
  %84 = getelementptr float, ptr %83, i64 16
  store <8 x float> %63, ptr %84, align 4
  %85 = getelementptr float, ptr %10, i64 %vector2
  %86 = getelementptr float, ptr %85, i64 24
  store <8 x float> %64, ptr %86, align 4
  %87 = add i64 %vector2, 32
  %88 = icmp slt i64 %87, %22
  br i1 %88, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %task
  br label %tail.head

tail.head:                                        ; preds = %tail, %vector.end
  %tail3 = phi i64 [ %22, %vector.end ], [ %106, %tail ]
  %89 = icmp slt i64 %tail3, %19
  br i1 %89, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %90 = sub i64 %19, %tail3
  %91 = call i64 @llvm.umin.i64(i64 %90, i64 8)
  %92 = trunc i64 %91 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %92, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %93 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %94 = getelementptr float, ptr %8, i64 %tail3
  %95 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %94, i32 4, <8 x i1> %93, <8 x float> zeroinitializer)
  %96 = getelementptr float, ptr %10, i64 %tail3
  %97 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %96, i32 4, <8 x i1> %93, <8 x float> zeroinitializer)
  %98 = fmul <8 x float> %97, <float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000, float 0x3FECCCCCC0000000>
  %99 = getelementptr float, ptr %12, i64 %tail3
  %100 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %99, i32 4, <8 x i1> %93, <8 x float> zeroinitializer)
  %101 = fadd <8 x float> %98, %100
  %102 = fmul <8 x float> %101, <float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000, float 0x3F847AE140000000>
  %103 = fsub <8 x float> %95, %102
  %104 = getelementptr float, ptr %8, i64 %tail3
  call void @llvm.masked.store.v8f32.p0(<8 x float> %103, ptr %104, i32 4, <8 x i1> %93)
  %105 = getelementptr float, ptr %10, i64 %tail3
  call void @llvm.masked.store.v8f32.p0(<8 x float> %101, ptr %105, i32 4, <8 x i1> %93)
  %106 = add i64 %tail3, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %107 = add i64 %15, 1
  %108 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }
